"""`topology.optimization`: which rewrites are done, and that each is right where Kafka Streams' own is not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    JoinWindows,
    Materialized,
    Processor,
    Record,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)
from headrace.errors import ConfigError, InvalidArgumentError
from headrace.log.base import Chunk
from headrace.task import changes_of_topic
from headrace.testing import TopologyTestDriver
from headrace.topology.nodes import SinkNode, SourceNode

WINDOWS = JoinWindows(timedelta(milliseconds=20))


@dataclass
class User:
    name: str


def rekeyed(builder: StreamsBuilder) -> Any:
    return builder.stream("in", value=str).select_key(lambda key, value: value[0], key=str)


def builder_of_all() -> StreamsBuilder:
    """Something for each rewrite to do."""
    builder = StreamsBuilder()
    table = builder.table("users", value=str, store="users")
    stream = rekeyed(builder)
    stream.join(table, join=lambda value, user: f"{value}+{user}", value=str).to("joined")
    stream.group_by_key().count(store="counts").to_stream().to("counts")
    again = builder.stream("again", value=str)
    again.join(again, windows=WINDOWS, join=lambda a, b: f"{a}+{b}", value=str).to("pairs")
    return builder


def shape(topology: Topology) -> tuple[bool, int, int]:
    """Whether the table's topic is its changelog, how many repartition topics, how many join stores."""
    stores = topology.stores.values()
    joins = [store for store in stores if store.name.startswith("KSTREAM-JOIN")]
    reused = topology.stores["users"].changelog_topic == "users"
    return reused, len(topology.repartition_topics), len(joins)


@pytest.mark.parametrize(
    ("optimization", "expected"),
    [
        ("none", (False, 2, 2)),
        ("all", (True, 1, 1)),
        ("reuse.ktable.source.topics", (True, 2, 2)),
        ("merge.repartition.topics", (False, 1, 2)),
        (["single.store.self.join"], (False, 2, 1)),
        ("merge.repartition.topics, reuse.ktable.source.topics", (True, 1, 2)),
        ((), (False, 2, 2)),
    ],
)
def test_each_rewrite_alone_and_together(optimization: Any, expected: tuple[bool, int, int]) -> None:
    assert shape(builder_of_all().build(optimization=optimization)) == expected


def test_a_builder_can_be_built_twice() -> None:
    builder = builder_of_all()
    first, plain = builder.build(optimization="all"), builder.build()
    assert str(first.describe()) == str(builder.build(optimization="all").describe())
    assert shape(plain) == (False, 2, 2)


@pytest.mark.parametrize(
    "optimization", ["some", "all,none", ["all", "reuse.ktable.source.topics"], "", True, None]
)
def test_an_unknown_rewrite_is_refused(optimization: Any) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r'"none", "all", or some of .*; got .*\n?.*test_optimization'
    ):
        StreamsBuilder().build(optimization=optimization)


def test_the_configuration_must_say_what_was_built() -> None:
    topology = builder_of_all().build(optimization="merge.repartition.topics")
    config = StreamsConfig(application_id="app", topology_optimization="all")
    with pytest.raises(
        ConfigError, match=r'built with "merge.repartition.topics": .*build\(optimization="all"\)'
    ):
        TopologyTestDriver(topology, config)
    TopologyTestDriver(builder_of_all().build(optimization="all"), config).close()


def test_nothing_is_written_to_the_topic_of_a_table() -> None:
    builder = StreamsBuilder()
    builder.table("users", value=str, store="users").to_stream().to("out")
    with TopologyTestDriver(builder.build(optimization="all")) as driver:
        driver.input("users").pipe("a", "x", timestamp=3)
        assert driver.produced_topic_names() == {"out"}
        assert driver.store("users").get("a") == "x"


def test_a_moved_repartition_writes_the_values_that_it_gets() -> None:
    """Not those that the processor behind it makes: Kafka Streams would write the text as a number, and fail."""

    class Length(Processor[str, str, str, int]):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record.with_value(len(record.value)))

    builder = StreamsBuilder()
    lengths = rekeyed(builder).process_values(Length, value=int)
    lengths.group_by_key().reduce(lambda a, b: a + b, store="sums").to_stream().to("out")
    topology = builder.build(optimization="all")
    (sink,) = (n for n in topology.nodes.values() if isinstance(n, SinkNode) and n.repartition)
    assert sink.value == Serdes.string()
    with TopologyTestDriver(topology) as driver:
        for value in ("abc", "ab", "b"):
            driver.input("in").pipe("k", value)
        assert driver.output("out").read_key_values() == [("a", 3), ("a", 5), ("b", 1)]


def test_two_repartitions_behind_one_filter_become_one() -> None:
    """Kafka Streams fails here while it builds."""
    builder = StreamsBuilder()
    filtered = rekeyed(builder).filter(lambda key, value: True)
    filtered.group_by_key().count(store="counts").to_stream().to("counts")
    filtered.to_table(store="last").to_stream().to("last")
    topology = builder.build(optimization="all")
    assert [topic.name for topic in topology.repartition_topics] == ["counts-repartition"]
    with TopologyTestDriver(topology) as driver:
        driver.input("in").pipe("k", "abc")
        assert driver.output("counts").read_key_values() == [("a", 1)]
        assert driver.output("last").read_key_values() == [("a", "abc")]


def test_a_repartition_stays_behind_a_processor_that_changes_the_key() -> None:
    """Kafka Streams moves it in front, and equal keys are then counted in several partitions."""

    class Second(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record.with_key(record.value[1]))

    builder = StreamsBuilder()
    rekeyed(builder).process(Second, key=str, value=str).group_by_key().count(store="counts")
    topology = builder.build(optimization="all")
    source = next(n for n in topology.nodes.values() if isinstance(n, SourceNode) and n.repartition)
    counting = next(n for n in topology.nodes.values() if "counts" in getattr(n, "stores", ()))
    assert counting.parents == (source.name,)


def test_a_repartition_stays_where_a_changed_key_could_get_past_it() -> None:
    builder = StreamsBuilder()
    one = rekeyed(builder)
    other = builder.stream("other", value=str).select_key(lambda key, value: value[1], key=str)
    one.group_by_key().count(store="ones")
    one.merge(other).group_by_key().count(store="both")
    topology = builder.build(optimization="all")
    assert {topic.name for topic in topology.repartition_topics} == {"ones-repartition", "both-repartition"}


def test_streams_that_reach_a_merged_repartition_another_way_have_as_many_partitions() -> None:
    builder = StreamsBuilder()
    one, plain = rekeyed(builder), builder.stream("plain", value=str)
    one.group_by_key().count(store="ones")
    one.merge(plain).group_by_key().count(store="both")
    topology = builder.build(optimization="all")
    assert [topic.name for topic in topology.repartition_topics] == ["ones-repartition"]
    (group,) = topology.copartition_groups()
    assert {topic for source in group for topic in source.topics} == {"plain", "ones-repartition"}


def test_the_topic_of_a_table_gives_the_rows_of_its_store() -> None:
    """In the store's form, with the extractor's times, and without what never got there."""
    builder = StreamsBuilder()
    builder.table(
        "users",
        value=User,
        store=Materialized("users", value=User),
        timestamp_extractor=lambda record, highest: (
            -1 if record.value == User("drop") else record.timestamp + highest
        ),
    )
    topology = builder.build(optimization="all")
    source = next(n for n in topology.nodes.values() if isinstance(n, SourceNode))
    change = changes_of_topic(source, topology.stores["users"], StreamsConfig(application_id="app"))
    values = [b'{ "name": "a", "more": 1 }', b"{broken", None, b'{"name":"drop"}', b'{"name":"b"}']
    read = Chunk("users", 0, [0, 2, 3, 4, 7], [5, 6, 7, 8, 9], [b"k", b"k", b"k", b"k", None], values)
    found = change(read)
    assert (found.offsets, found.keys, found.timestamps) == ([0, 3], [b"k", b"k"], [4, 11])
    assert found.values == [b'{"name":"a"}', None]
