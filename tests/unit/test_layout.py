"""Where sub-topologies run: in the reader, in a stage by depth, or a batch later through a topic of their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest

from headrace import KStream, KTable, Processor, SessionWindows, StreamsBuilder, key_value_store
from headrace.errors import MissingTopicError, StartError
from headrace.record import Record
from headrace.spark.layout import Layout, lay_out
from headrace.spark.named_topics import missing_topics
from headrace.topology.foreign_key import Subscribe
from headrace.topology.nodes import ProcessorNode


def laid_out(build: Callable[[StreamsBuilder], object], **topics: int) -> Layout:
    builder = StreamsBuilder()
    build(builder)
    return lay_out(builder.build(), "app", topics)


def stages(layout: Layout) -> list[tuple[int, int]]:
    """(stage, tasks) of each sub-topology."""
    return [(placement.stage, placement.tasks) for placement in layout.placements]


def text(builder: StreamsBuilder, topic: str) -> KStream[str, str]:
    return builder.stream(topic, value=str)


def by_value(stream: KStream[str, str], store: str) -> KStream[str, int]:
    return stream.group_by(lambda _, value: value).count(store=store).to_stream()


def test_a_stateless_topology_runs_in_the_reader_alone() -> None:
    layout = laid_out(lambda b: text(b, "a").filter(lambda k, v: True).to("out"), a=3)
    assert stages(layout) == [(0, 3)]
    assert layout.stages == 0


def test_an_aggregate_runs_in_a_stage_after_the_reader() -> None:
    layout = laid_out(lambda b: text(b, "a").group_by_key().count().to_stream().to("out"), a=3)
    assert stages(layout) == [(1, 3)]
    assert layout.reader_of("a").stage == 1


def test_a_re_keyed_aggregate_follows_a_head() -> None:
    layout = laid_out(lambda b: by_value(text(b, "a"), "s").to("out"), a=5)
    assert stages(layout) == [(0, 5), (1, 5)]
    assert layout.repartitions == {"s-repartition": 5}
    assert [p.stage for p in layout.repartition_readers["s-repartition"]] == [1]


def test_a_second_re_keying_is_one_stage_deeper() -> None:
    def build(builder: StreamsBuilder) -> None:
        counts = by_value(text(builder, "a"), "s")
        counts.map(lambda word, n: (str(n), word), key=str, value=str).group_by_key().count(
            store="t"
        ).to_stream().to("out")

    assert stages(laid_out(build, a=2)) == [(0, 2), (1, 2), (2, 2)]


def test_a_processor_of_the_users_own_needs_a_task_of_its_own() -> None:
    class Pass(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record)

    layout = laid_out(lambda b: text(b, "a").process(Pass).to("out", key=str, value=str), a=1)
    assert stages(layout) == [(1, 1)]


def test_sub_topologies_of_equal_depth_share_a_stage() -> None:
    def build(builder: StreamsBuilder) -> None:
        by_value(text(builder, "a"), "s").to("x")
        by_value(text(builder, "b"), "t").to("y")

    layout = laid_out(build, a=4, b=2)
    assert sorted(stages(layout)) == [(0, 2), (0, 4), (1, 2), (1, 4)]
    assert layout.tasks == 4


def test_what_leads_back_goes_through_a_topic_into_the_next_batch() -> None:
    def build(builder: StreamsBuilder) -> None:
        table = builder.table("t", value=str)
        joined = text(builder, "a").join(table, join=lambda v, other: v + other, value=str)
        counted = by_value(joined, "s").map(lambda word, n: (word, str(n)), key=str, value=str)
        counted.join(table, join=lambda v, other: v + other, value=str).to("out", value=str)

    layout = laid_out(build, a=3, t=3)
    assert len(layout.looped) == 1
    (looped,) = layout.looped
    assert layout.topics == {"a": 3, "t": 3, f"app-{looped}": 3}
    assert layout.node_topic(f"app-{looped}") == looped
    assert layout.reader_of(f"app-{looped}") == layout.reader_of("t")


def tables(*topics: str) -> tuple[StreamsBuilder, list[KTable[str, str]]]:
    builder = StreamsBuilder()
    return builder, [builder.table(topic, value=str) for topic in topics]


def key_of_the_other(key: str, value: str) -> str:
    return value


def test_of_the_two_topics_of_a_foreign_key_join_the_answers_go_back() -> None:
    """The tables may have different numbers of partitions: each topic has that of the table it leads to."""
    builder, (a, b) = tables("a", "b")
    a.join(b, on=key_of_the_other, join=max, name="fk").to_stream().to("out")
    b.join(a, on=key_of_the_other, join=max, name="kf").to_stream().to("out")
    layout = lay_out(builder.build(), "app", {"a": 3, "b": 5, "out": 1})
    assert [placement.stage for placement in layout.placements] == [1, 2]
    assert layout.looped == {"fk-subscription-response-topic", "kf-subscription-registration-topic"}
    assert layout.repartitions == {
        "fk-subscription-registration-topic": 5,
        "fk-subscription-response-topic": 3,
        "kf-subscription-registration-topic": 3,
        "kf-subscription-response-topic": 5,
    }
    assert [placement.tasks for placement in layout.placements] == [3, 5]
    assert not any(operator.always for operator in subscribers(layout))


def test_a_table_that_is_joined_with_itself_sends_both_ways_through_topics_and_always_asks() -> None:
    builder, (a, b) = tables("a", "b")
    a.join(a, on=key_of_the_other, join=max, name="self").to_stream().to("out")
    a.join(b, on=key_of_the_other, join=max, name="fk").to_stream().to("out")
    layout = lay_out(builder.build(), "app", {"a": 3, "b": 5, "out": 1})
    assert layout.looped == {
        "self-subscription-registration-topic",
        "self-subscription-response-topic",
        "fk-subscription-response-topic",
    }
    assert [operator.always for operator in subscribers(layout)] == [True, False]


def subscribers(layout: Layout) -> list[Subscribe]:
    nodes = [node for placement in layout.placements for node in placement.sub.nodes]
    found = [node.operator for node in nodes if isinstance(node, ProcessorNode)]
    return [operator for operator in found if isinstance(operator, Subscribe)]


def test_joined_topics_must_have_the_same_number_of_partitions() -> None:
    def build(builder: StreamsBuilder) -> None:
        table = builder.table("t", value=str)
        text(builder, "a").join(table, join=lambda v, other: v, value=str).to("out", value=str)

    with pytest.raises(StartError, match=r"`a` has 3, `t` has 4.*`repartition`") as caught:
        laid_out(build, a=3, t=4)
    assert caught.value.origin is not None
    assert caught.value.origin.file == __file__


def test_the_repartitioned_side_of_a_join_takes_the_tables_number() -> None:
    def build(builder: StreamsBuilder) -> None:
        table = builder.table("t", value=str)
        stream = text(builder, "a").select_key(lambda _, value: value)
        stream.join(table, join=lambda v, other: v, value=str).to("out", value=str)

    layout = laid_out(build, a=2, t=6)
    assert list(layout.repartitions.values()) == [6]
    assert (1, 6) in stages(layout)


def test_a_repartition_can_name_its_number() -> None:
    layout = laid_out(
        lambda b: (
            text(b, "a").repartition(name="r", partitions=7).group_by_key().count().to_stream().to("out")
        ),
        a=2,
    )
    assert layout.repartitions == {"r-repartition": 7}
    assert layout.tasks == 7


def test_global_tables_have_no_task() -> None:
    def build(builder: StreamsBuilder) -> None:
        table = builder.global_table("g", value=str, store="gs")
        text(builder, "a").left_join(table, on=lambda k, v: v, join=lambda v, g: v, value=str).to(
            "out", value=str
        )

    layout = laid_out(build, a=2, g=3)
    assert stages(layout) == [(0, 2)]
    assert (layout.globals, layout.global_partitions) == ({"gs": "g"}, {"g": 3})


def test_a_pattern_reads_the_topics_that_match_and_wants_one() -> None:
    def build(builder: StreamsBuilder) -> None:
        builder.stream(re.compile("in-.*"), value=str).to("out")

    layout = laid_out(build, **{"in-1": 2, "in-2": 3, "other": 9})
    assert layout.topics == {"in-1": 2, "in-2": 3}
    assert layout.tasks == 3
    with pytest.raises(MissingTopicError, match=r"in-\.\*"):
        laid_out(build, other=1)


def test_missing_topics_are_named_with_their_source() -> None:
    builder = StreamsBuilder()
    text(builder, "here").to("out")
    text(builder, "gone").to("out2")
    found = missing_topics(builder.build(), {"here": 1, "out2": 1})
    assert [(topic, node.name) for topic, node in found] == [
        ("gone", "KSTREAM-SOURCE-0000000002"),
        ("out", "KSTREAM-SINK-0000000001"),
    ]


def test_a_pattern_does_not_match_what_the_application_made_for_itself() -> None:
    made = [
        "app-s-changelog",
        "app-x-repartition",
        "app-x-repartition-rescaled",
        "app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000011-topic",
        "app-mine-subscription-registration-topic",
        "app-commits",
    ]
    topics = dict.fromkeys(["in", "app-in", *made, "__x"], 1)
    layout = laid_out(lambda b: b.stream(re.compile(".*"), value=str).to("out"), **topics)
    assert set(layout.topics) == {"in", "app-in"}


def test_changelogs_are_named_as_kafka_streams_names_them() -> None:
    def build(builder: StreamsBuilder) -> None:
        windows = SessionWindows(timedelta(minutes=1))
        text(builder, "a").group_by_key().windowed_by(windows).count(store="s").to_stream().to("out")

    assert laid_out(build, a=1).changelog("s") == "app-s-changelog"


def test_stores_by_hand_belong_to_the_task() -> None:
    class Count(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            self.context.get_state_store("n").put(record.key, record.value)

    def build(builder: StreamsBuilder) -> None:
        builder.add_state_store(key_value_store("n", key=str, value=str))
        text(builder, "a").process(Count, stores=["n"])

    (placement,) = laid_out(build, a=2).placements
    assert [spec.name for spec in placement.sub.stores] == ["n"]
