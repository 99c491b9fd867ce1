"""What the DSL makes of each call: the operator, where it repartitions, and what may be built twice."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import Processor, StreamsBuilder, TimeWindows, Topology, key_value_store
from headrace.errors import InvalidArgumentError
from headrace.testing import TopologyTestDriver
from headrace.topology import operators
from headrace.topology.nodes import ProcessorNode, SinkNode
from headrace.topology.views import StoreView


def left(a: Any, b: Any, *more: Any) -> Any:
    return a


def first(key: Any, value: Any) -> Any:
    return key


def same(value: Any) -> Any:
    return value


def operator(topology: Topology, name: str) -> operators.Operator:
    node = topology.nodes[name]
    assert isinstance(node, ProcessorNode)
    return node.operator


def test_building_twice_gives_the_same_topology() -> None:
    builder = StreamsBuilder()
    builder.stream("s", value=str).group_by(first).count().to_stream().to("o")
    assert builder.build().nodes == builder.build().nodes


def test_a_builder_may_grow_after_it_was_built() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("s", value=str)
    assert len(builder.build().nodes) == 1
    stream.to("o")
    assert len(builder.build().nodes) == 2


def test_callbacks_are_in_the_operators() -> None:
    builder = StreamsBuilder()
    s = builder.stream("s", value=str)
    s.filter(first, name="f").map_values(first, with_key=True, name="m").peek(first, name="p").foreach(
        first, name="e"
    )
    s.filter_not(first, name="n").flat_map_values(left, name="v", with_key=True)
    topology = builder.build()
    assert operator(topology, "f") == operators.Filter(first)
    assert operator(topology, "n") == operators.Filter(first, negate=True)
    assert operator(topology, "m") == operators.MapValues(first, with_key=True)
    assert operator(topology, "v") == operators.FlatMapValues(left, with_key=True)
    assert operator(topology, "p") == operators.Peek(first)
    assert operator(topology, "e") == operators.Peek(first, forward=False)


def test_joins_know_their_store_and_side() -> None:
    builder = StreamsBuilder()
    table, everywhere = builder.table("t", store="ts"), builder.global_table("g", store="gs")
    s = builder.stream("s")
    s.left_join(table, join=left, name="l", with_key=True)
    s.join(everywhere, on=first, join=left, name="g")
    topology = builder.build()
    assert operator(topology, "l") == operators.StreamTableJoin(
        StoreView("ts"), left, left=True, with_key=True
    )
    assert operator(topology, "g") == operators.StreamGlobalTableJoin("gs", first, left, left=False)
    assert topology.nodes["l"].stores == ("ts",)  # type: ignore[union-attr]
    assert topology.nodes["g"].stores == ()  # type: ignore[union-attr]


def test_a_branch_knows_its_children() -> None:
    builder = StreamsBuilder()
    builder.stream("s").split(name="by-").branch(first, name="a").branch(left).default_branch()
    topology = builder.build()
    assert operator(topology, "by-") == operators.Branch((first, left), ("by-a", "by-2"), "by-0")
    assert operator(topology, "by-a") == operators.PassThrough()


def test_the_short_form_of_a_split_gives_the_branches_in_order() -> None:
    builder = StreamsBuilder()
    large, small = builder.stream("n", value=int).branch(lambda k, n: n > 9, lambda k, n: n > 0)
    even, rest = small.branch(lambda k, n: n % 2 == 0, default=True)
    for stream, topic in ((large, "large"), (even, "even"), (rest, "rest")):
        stream.to(topic)
    with TopologyTestDriver(builder.build()) as driver:
        numbers = driver.input("n")
        for n in (10, 4, 3, -1):
            numbers.pipe("k", n)
        assert [driver.output(topic).read_values() for topic in ("large", "even", "rest")] == [[10], [4], [3]]


def test_a_key_that_stays_needs_no_repartition() -> None:
    builder = StreamsBuilder()
    s = builder.stream("s").map_values(same).flat_map_values(same).process_values(Processor)
    s.group_by_key().count()
    s.join(builder.table("t"), join=left)
    assert builder.build().repartition_topics == ()


@pytest.mark.parametrize("change", ["select_key", "map", "flat_map", "process"])
def test_a_key_that_changes_is_repartitioned_at_the_next_aggregation(change: str) -> None:
    builder = StreamsBuilder()
    changed = getattr(builder.stream("s"), change)(first if change != "process" else Processor)
    assert builder.build().repartition_topics == ()
    changed.filter(first).group_by_key().count(store="c")
    assert [topic.name for topic in builder.build().repartition_topics] == ["c-repartition"]


def test_after_a_repartition_the_key_counts_as_unchanged() -> None:
    builder = StreamsBuilder()
    s = builder.stream("s").select_key(first).repartition(name="r")
    s.group_by_key().count()
    assert [topic.name for topic in builder.build().repartition_topics] == ["r-repartition"]


def test_merging_a_changed_key_changes_the_key() -> None:
    builder = StreamsBuilder()
    builder.stream("a").merge(builder.stream("b").select_key(first)).group_by_key().count(store="c")
    assert [topic.name for topic in builder.build().repartition_topics] == ["c-repartition"]


def test_a_repartition_drops_records_without_a_key() -> None:
    builder = StreamsBuilder()
    builder.stream("s").group_by(first).count(store="c")
    assert operator(builder.build(), "c-repartition-filter") == operators.DropNullKeys()


def test_a_repartition_before_a_left_join_keeps_records_without_a_key() -> None:
    builder = StreamsBuilder()
    table = builder.table("t")
    s = builder.stream("s").select_key(first)
    s.left_join(table, join=left, name="kept")
    s.join(table, join=left, name="dropped")
    s.repartition(name="far").map_values(same).left_join(table, join=left)
    topology = builder.build()
    assert operator(topology, "kept-repartition-filter") == operators.PassThrough()
    assert operator(topology, "far-repartition-filter") == operators.PassThrough()
    assert operator(topology, "dropped-repartition-filter") == operators.DropNullKeys()


def test_streams_of_the_same_topic_are_one_source() -> None:
    builder = StreamsBuilder()
    builder.stream("s", value=str).to("a")
    builder.stream("s", value=str).to("b")
    (sub,) = builder.build().sub_topologies()
    assert [source.topics for source in sub.sources] == [("s",)]
    assert [sink.topic for sink in sub.sinks] == ["a", "b"]


def test_a_store_may_be_added_after_the_processor_that_names_it() -> None:
    builder = StreamsBuilder()
    builder.stream("s").process(Processor, stores=["late"], name="p")
    builder.add_state_store(key_value_store("late", value=int))
    assert builder.build().nodes["p"].stores == ("late",)  # type: ignore[union-attr]


def test_a_table_may_be_joined_between_two_aggregations_of_a_named_grouping() -> None:
    """Kafka Streams writes the join before the store and fails; here the order follows what is needed."""
    builder = StreamsBuilder()
    s = builder.stream("s")
    grouped = s.group_by(first, name="shared")
    counts = grouped.count(store="counts")
    s.join(counts, join=left, name="joined")
    grouped.windowed_by(TimeWindows(timedelta(minutes=1))).count()
    topology = builder.build()
    assert topology.nodes["joined"].stores == ("counts",)  # type: ignore[union-attr]
    assert [topic.name for topic in topology.repartition_topics] == ["shared-repartition"]


def test_sinks_keep_their_partitioner() -> None:
    def partitioner(topic: str, key: Any, value: Any, count: int) -> int:
        return 0

    builder = StreamsBuilder()
    s = builder.stream("s")
    s.to("o", partitioner=partitioner, name="sink")
    s.repartition(partitioner=partitioner, name="r")
    nodes = builder.build().nodes
    for name in ("sink", "r-repartition-sink"):
        sink = nodes[name]
        assert isinstance(sink, SinkNode)
        assert sink.partitioner is partitioner
        assert sink.repartition == (name != "sink")


def test_sources_keep_their_settings() -> None:
    def extract(record: Any, highest: int) -> int:
        return 0

    builder = StreamsBuilder()
    builder.stream("s", timestamp_extractor=extract, offset_reset="latest")
    builder.table("t", timestamp_extractor=extract, offset_reset="earliest")
    sources = [source for sub in builder.build().sub_topologies() for source in sub.sources]
    assert [(s.timestamp_extractor, s.offset_reset) for s in sources] == [
        (extract, "latest"),
        (extract, "earliest"),
    ]


def test_print_writes_the_label_the_key_and_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    builder = StreamsBuilder()
    builder.stream("s", value=int).print(label="seen")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("s").pipe("a", 1)
    assert capsys.readouterr().out == "[seen]: a, 1\n"


def test_print_shows_what_its_mapper_makes_of_a_record_and_adds_it_to_a_file(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    path = tmp_path / "seen"
    numbers = builder.stream("s", value=int)
    numbers.print(file=path)
    numbers.print(label="seen", mapper=lambda key, value: f"{key} -> {value}", file=str(path))
    for _ in range(2):
        with TopologyTestDriver(builder.build()) as driver:
            driver.input("s").pipe("a", 1)
    assert path.read_text().splitlines() == ["[KSTREAM-SOURCE-0000000000]: a, 1", "[seen]: a -> 1"] * 2


def test_a_branch_goes_on_at_once_with_its_chain() -> None:
    builder = StreamsBuilder()
    branches = (
        builder.stream("n", value=int)
        .split(name="is-")
        .branch(lambda key, n: n > 9, chain=lambda large: large.map_values(str, value=str), name="large")  # type: ignore[return-value, arg-type]
        .branch(lambda key, n: n > 0, chain=lambda small: small.to("small"))
        .default_branch()
    )
    assert list(branches) == ["is-large", "is-0"]
    for name, stream in branches.items():
        stream.to(name)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("n").pipe_value_list([10, 5, -1])
        assert driver.output("is-large").read_values() == ["10"]
        assert driver.output("small").read_values() == [5]
        assert driver.output("is-0").read_values() == [-1]


def test_a_chain_returns_a_stream_or_nothing() -> None:
    builder = StreamsBuilder()
    with pytest.raises(
        InvalidArgumentError, match="`chain` returns the stream that the branch becomes, or None"
    ) as caught:
        builder.stream("n").split().branch(first, chain=lambda one: one.group_by_key())  # type: ignore[arg-type, return-value]
    assert (caught.value.node, caught.value.origin.file) == ("KSTREAM-BRANCH-00000000011", __file__)  # type: ignore[union-attr]
