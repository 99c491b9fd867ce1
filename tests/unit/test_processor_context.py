"""The Processor API beside Kafka Streams' own: what a context answers, punctuators with a start, stores that processors
bring with them, read-only and global stores. The expected values were recorded from Kafka Streams 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import (
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    Serdes,
    StoreSpec,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    key_value_store,
    window_store,
)
from headrace.errors import CallbackError, InvalidArgumentError
from headrace.testing import TopologyTestDriver
from tests.spark.store_topologies import builders_global_store, read_only_store

TEN = timedelta(milliseconds=10)
STREAM, WALL = PunctuationType.STREAM_TIME, PunctuationType.WALL_CLOCK_TIME


def topology_of(supplier: Any, *sinks: str) -> Topology:
    topology = Topology().add_source("in", "in", value=str).add_processor("p", supplier, "in")
    for sink in sinks or ("out",):
        topology.add_sink(sink, sink, "p", value=str)
    return topology


def test_what_a_context_answers(tmp_path: Path) -> None:
    said: list[Any] = []

    class Curious(Processor[str, str, str, str]):
        def init(self, context: ProcessorContext[str, str]) -> None:
            super().init(context)
            said.append((context.application_id, str(context.task_id), context.record_metadata))
            said.append((context.current_stream_time_ms(), context.current_system_time_ms()))
            said.append((context.state_dir, context.state_dir.is_dir()))
            said.append((context.key_serde, context.value_serde, context.config.application_id))

        def process(self, record: Record[str, str]) -> None:
            context = self.context
            said.append(context.record_metadata)
            said.append((context.current_stream_time_ms(), context.current_system_time_ms()))
            context.forward(record, "out")
            context.commit()
            context.metrics.add("seen")
            context.metrics.add("letters", len(record.value))

    config = StreamsConfig(application_id="app", state_dir=str(tmp_path))
    topology = topology_of(Curious, "out", "out2")
    with TopologyTestDriver(topology, config, initial_wall_clock_time=1000) as driver:
        driver.input("in").pipe("k", "v", timestamp=7)
        driver.input("in").pipe("k", "vw", timestamp=3)
        assert driver.produced_topic_names() == {"out"}
        assert driver.metrics() == {"seen": 2, "letters": 3}
    assert said == [
        ("app", "0_0", None),
        (-1, 1000),
        (tmp_path / "app" / "0_0", True),
        (Serdes.string(), None, "app"),
        ("in", 0, 0),
        (7, 1000),
        ("in", 0, 1),
        (7, 1000),
    ]


def ticking(*schedules: tuple[str, Any, PunctuationType], after: int = -1) -> Topology:
    """Forwards (name, time) of punctuators that are scheduled in `init`, or by the first record from `after` on."""

    class Ticking(Processor[str, str, str, str]):
        done = False

        def init(self, context: ProcessorContext[str, str]) -> None:
            super().init(context)
            if after < 0:
                self.schedule()

        def process(self, record: Record[str, str]) -> None:
            if 0 <= after <= record.timestamp and not self.done:
                self.done = True
                self.schedule()

        def schedule(self) -> None:
            for name, start, kind in schedules:
                self.context.schedule(TEN, kind, lambda time, name=name: self.tick(name, time), start=start)

        def tick(self, name: str, time: int) -> None:
            self.context.forward(Record(name, str(time), time))

    return topology_of(Ticking)


def fired(topology: Topology, times: Iterable[int], steps: Iterable[int]) -> list[tuple[int, list[Any]]]:
    found = []
    with TopologyTestDriver(topology, initial_wall_clock_time=1000) as driver:
        for time in times:
            driver.input("in").pipe("k", "v", timestamp=time)
            found.append((time, driver.output("out").read_key_values()))
        for step in steps:
            driver.advance_wall_clock_time(timedelta(milliseconds=step))
            found.append((step, driver.output("out").read_key_values()))
    return [(at, ticks) for at, ticks in found if ticks]


def test_punctuators_with_a_start() -> None:
    topology = ticking(("s", 25, STREAM), ("w", 1030, WALL), ("past", 3, WALL))
    found = fired(topology, [0, 20, 24, 25, 26, 34, 35, 70, 71, 75], [1, 5, 20, 4, 1, 10, 35, 1])
    assert found == [
        (25, [("s", "25")]),
        (35, [("s", "35")]),
        (70, [("s", "70")]),
        (75, [("s", "75")]),
        (5, [("past", "1006")]),
        (20, [("past", "1026")]),
        (4, [("w", "1030")]),
        (10, [("past", "1041"), ("w", "1041")]),
        (35, [("past", "1076"), ("w", "1076")]),
    ]


def test_a_start_in_the_past_leaves_out_what_has_gone_by() -> None:
    topology = ticking(("s3", 3, STREAM), ("s90", 90, STREAM), ("plain", None, STREAM), after=100)
    assert fired(topology, [0, 100, 101, 103, 104, 110, 111, 113], []) == [
        (100, [("plain", "100")]),
        (103, [("s3", "103")]),
        (110, [("plain", "110"), ("s90", "110")]),
        (113, [("s3", "113")]),
    ]


def test_a_start_now_is_due_at_once() -> None:
    now = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    found = fired(ticking(("now", now, WALL), ("zero", 0, WALL)), [], [0, 1, 5, 4])
    assert found == [(0, [("now", "1000")]), (4, [("zero", "1010"), ("now", "1010")])]


@pytest.mark.parametrize("wrong", [-5, 1.5, "now", True, datetime(2020, 1, 1)])
def test_a_start_that_is_none(wrong: Any) -> None:
    with pytest.raises(
        InvalidArgumentError, match="`start` is milliseconds since the epoch, or a datetime with"
    ):
        TopologyTestDriver(ticking(("x", wrong, WALL)))


SEEN = key_value_store("seen", key=str, value=int)


class Number(Processor[str, str, str, str]):
    @classmethod
    def stores(cls) -> Iterable[StoreSpec]:
        return [SEEN]

    def process(self, record: Record[str, str]) -> None:
        seen = self.context.get_state_store("seen")
        count = (seen.get(record.key) or 0) + 1
        seen.put(record.key, count)
        self.context.forward(record.with_value(f"{count}. {record.value}"))


class Supplier:
    """A supplier that is an object, as in Kafka Streams."""

    def stores(self) -> Iterable[StoreSpec]:
        return [SEEN]

    def __call__(self) -> Processor[str, str, str, str]:
        return Number()


@pytest.mark.parametrize("supplier", [Number, Supplier()], ids=["class", "object"])
def test_a_processor_brings_its_stores(supplier: Any) -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).process(supplier, value=str).to("out")
    topology = builder.build()
    assert "Processor: KSTREAM-PROCESSOR-0000000001 (stores: [seen])" in str(topology.describe())
    by_hand = topology_of(supplier)
    for each in (topology, by_hand):
        with TopologyTestDriver(each) as driver:
            driver.input("in").pipe("a", "apple")
            driver.input("in").pipe("a", "pear")
            assert driver.output("out").read_values() == ["1. apple", "2. pear"]


def test_two_processors_may_bring_the_same_store() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", value=str)
    stream.process(Number, stores=[SEEN], value=str).to("one")
    stream.process_values(Number, value=str).to("two")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("in").pipe("a", "x")
        assert driver.output("one").read_values() == ["1. x"]
        assert driver.output("two").read_values() == ["2. x"]


READ_ONLY = """Topologies:
   Sub-topology: 0
    Source: in (topics: [in])
      --> ask
    Processor: ask (stores: [ro])
      --> out
      <-- in
    Source: src (topics: [topic])
      --> proc
    Sink: out (topic: out)
      <-- ask
    Processor: proc (stores: [ro])
      --> none
      <-- src

"""


def test_a_read_only_store_is_described_as_kafka_streams_does() -> None:
    topology = Topology().add_read_only_state_store(
        key_value_store("ro", value=str),
        "topic",
        source="src",
        processor="proc",
        supplier=Processor,
        value=str,
    )
    topology.add_source("in", "in", value=str).add_processor("ask", Processor, "in")
    topology.connect_processor_and_state_stores("ask", "ro").add_sink("out", "out", "ask", value=str)
    assert str(topology.describe()) == READ_ONLY


def test_a_read_only_store_has_no_changelog_but_its_topic() -> None:
    topology = read_only_store()
    with TopologyTestDriver(topology) as driver:
        table, words = driver.input("table"), driver.input("in")
        table.pipe("k", "apple", timestamp=5)
        words.pipe("k", "a", timestamp=6)
        table.pipe("k", None, timestamp=7)
        words.pipe("k", "b", timestamp=8)
        table.pipe("k", "late", timestamp=9)
        words.pipe("k", "c", timestamp=1)
        assert driver.output("asked").read_values() == ["a apple", "b None", "c late"]
        assert driver.produced_topic_names() == {"asked"}


def test_a_read_only_store_may_be_written_by_its_own_processor_only() -> None:
    class Write(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            self.context.get_state_store("names").put("a", "b")

    topology = read_only_store().add_processor("write", Write, "words", stores=["names"])
    with (
        TopologyTestDriver(topology) as driver,
        pytest.raises(
            CallbackError, match="`put` is refused: the read-only store `names` is changed by its topic"
        ),
    ):
        driver.input("in").pipe("a", "b")


def test_only_plain_key_value_stores_are_read_only() -> None:
    store = window_store("w", size=TEN, retention=TEN, value=str)
    with pytest.raises(InvalidArgumentError, match="a read-only store is a plain key-value store"):
        Topology().add_read_only_state_store(store, "t", source="s", processor="p", supplier=Processor)


def test_a_builders_global_store() -> None:
    topology = builders_global_store()
    assert str(topology.describe()).splitlines()[1:8] == [
        "   Sub-topology: 0 for global store (will not generate tasks)",
        "    Source: KSTREAM-SOURCE-0000000000 (topics: [table])",
        "      --> KTABLE-SOURCE-0000000001",
        "    Processor: KTABLE-SOURCE-0000000001 (stores: [names])",
        "      --> none",
        "      <-- KSTREAM-SOURCE-0000000000",
        "  Sub-topology: 1",
    ]
    with TopologyTestDriver(topology) as driver:
        driver.input("table").pipe("a", "apple")
        driver.input("in").pipe("a", "x")
        driver.input("in").pipe("b", "y")
        assert driver.output("asked").read_values() == ["x apple", "y None"]


def test_a_builders_global_store_with_a_name() -> None:
    builder = StreamsBuilder()
    store = key_value_store("g2", value=str, logging=False)
    builder.add_global_store(store, "t2", Processor, value=str, name="named")
    builder.stream("in2", value=str)
    lines = str(builder.build().describe()).splitlines()
    assert "    Source: named-source (topics: [t2])" in lines
    assert "    Processor: named (stores: [g2])" in lines
    assert "    Source: KSTREAM-SOURCE-0000000002 (topics: [in2])" in lines
