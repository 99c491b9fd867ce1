"""Topologies that run on Spark and in the test driver; in a module, so that workers find their classes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from headrace import (
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Topology,
    Windowed,
    key_value_store,
)


@dataclass
class Totals:
    count: int
    total: int


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def number(key: str | None, value: str) -> int:
    """The values of the tests are texts such as `b17`."""
    return int(value[1:])


def letter(key: str | None, value: str) -> str:
    return value[0]


def stateless() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("left", value=str).filter(lambda key, value: value is not None)
    even, rest = words.branch(lambda key, value: number(key, value) % 2 == 0, default=True)
    even.map_values(str.upper, value=str).merge(builder.stream("right", value=str)).to("merged")
    rest.flat_map_values(lambda value: [value, value[::-1]], value=str).to("flat")
    rest.map(lambda key, value: (value[0], f"{key}:{value}"), key=str, value=str).to("mapped")
    return builder.build()


def routed() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream(re.compile("in-.*"), value=str)
    words.to(lambda key, value, metadata: f"out-{value[0]}")
    words.to("chosen", partitioner=lambda topic, key, value, partitions: number(key, value) % partitions)
    return builder.build()


def aggregates() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("in", value=str)
    words.group_by_key().count(store="by-key").to_stream().to("counts", value=int)
    words.group_by(letter).count(store="by-letter").to_stream().to("letter-counts", value=int)
    numbers = words.map_values(lambda value: number(None, value), value=int)
    numbers.group_by_key().reduce(max, store="highest").to_stream().to("highest")
    (
        numbers.select_key(lambda key, value: f"mod-{value % 7}")
        .group_by_key()
        .aggregate(
            lambda: Totals(0, 0),
            lambda key, value, totals: Totals(totals.count + 1, totals.total + value),
            value=Totals,
            store="totals",
        )
        .to_stream()
        .to("totals", value=Totals)
    )
    return builder.build()


def windows() -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by_key()
    tumbling = grouped.windowed_by(TimeWindows(ms(100), grace=ms(40))).count(store="tumbling")
    tumbling.to_stream().to("tumbling-out")
    sessions = grouped.windowed_by(SessionWindows(ms(30), grace=ms(50)))
    sessions.reduce(lambda one, other: f"{one}{other}", store="sessions").to_stream().to("sessions-out")
    return builder.build()


def joins() -> Topology:
    builder = StreamsBuilder()
    table = builder.table("table", value=str, store="table")
    stream = builder.stream("stream", value=str)
    stream.join(table, join=lambda left, right: f"{left}+{right}", value=str).to("inner")
    stream.left_join(table, join=lambda left, right: f"{left}+{right}", value=str).to("left")
    return builder.build()


def rekeyed_joins() -> Topology:
    builder = StreamsBuilder()
    table = builder.table("table", value=str, store="table")
    stream = builder.stream("stream", value=str).select_key(lambda key, value: f"k{number(key, value) % 10}")
    stream.join(table, join=lambda left, right: f"{left}+{right}", value=str, name="in").to("inner")
    stream.left_join(table, join=lambda left, right: f"{left}+{right}", value=str, name="le").to("left")
    return builder.build()


def global_joins() -> Topology:
    builder = StreamsBuilder()
    table = builder.global_table("table", value=str, store="names")
    stream = builder.stream("stream", value=str)
    stream.join(table, on=letter, join=lambda left, right: f"{left}+{right}", value=str).to("inner")
    stream.left_join(table, on=letter, join=lambda left, right: f"{left}+{right}", value=str).to("left")
    return builder.build()


class Ranking(Processor[str, str, str, str]):
    """Keeps the highest value of each key; says so at every hundredth millisecond of stream time."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        self.store = context.get_state_store("ranking")
        context.schedule(ms(100), PunctuationType.STREAM_TIME, self.report)

    def process(self, record: Record[str, str]) -> None:
        value = number(record.key, record.value)
        before = self.store.get(record.key)
        if before is None or value > before:
            self.store.put(record.key, value)
            self.context.forward(record.with_value(f"{before}<{value}"))

    def report(self, time: int) -> None:
        for key, value in self.store.all():
            self.context.forward(Record(key, f"{value}@{time}", time))


def ranking() -> Topology:
    builder = StreamsBuilder()
    store = key_value_store("ranking", key=str, value=int)
    builder.stream("in", value=str).process(Ranking, stores=[store], key=str, value=str).to("out")
    return builder.build()


class Ticks(Processor[str, str, str, str]):
    """Counts records, and the calls of a wall-clock punctuator; both in a store."""

    INTERVAL = ms(400)

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        self.store = context.get_state_store("ticks")
        context.schedule(self.INTERVAL, PunctuationType.WALL_CLOCK_TIME, self.tick)

    def process(self, record: Record[str, str]) -> None:
        self.store.put("records", (self.store.get("records") or 0) + 1)

    def tick(self, time: int) -> None:
        ticks = (self.store.get("ticks") or 0) + 1
        self.store.put("ticks", ticks)
        task = self.context.task_id.partition
        self.context.forward(Record(f"task-{task}", f"{ticks} {self.store.get('records') or 0}", time))


def ticks() -> Topology:
    builder = StreamsBuilder()
    store = key_value_store("ticks", key=str, value=int)
    builder.stream("in", value=str).process(Ticks, stores=[store], key=str, value=str).to("out")
    return builder.build()


class LongTicks(Ticks):
    INTERVAL = timedelta(hours=1)


def long_ticks() -> Topology:
    builder = StreamsBuilder()
    store = key_value_store("ticks", key=str, value=int)
    builder.stream("in", value=str).process(LongTicks, stores=[store], key=str, value=str).to("out")
    return builder.build()


def chained() -> Topology:
    """Two re-keys, one behind the other: the query has two stages after the source."""
    builder = StreamsBuilder()
    (
        builder.stream("in", value=str)
        .group_by(letter)
        .count(store="letters")
        .to_stream()
        .map(lambda key, count: (f"size-{len(str(count))}", f"{key}{count}"), key=str, value=str)
        .group_by_key()
        .reduce(max, store="sizes")
        .to_stream()
        .to("out", value=str)
    )
    return builder.build()


def cycle() -> Topology:
    """What was joined with a table is counted and comes back to the table's own sub-topology."""
    builder = StreamsBuilder()
    table = builder.table("names", value=str, store="names")
    (
        builder.stream("in", value=str)
        .join(table, join=lambda value, name: f"{value}/{name}", value=str)
        .group_by(letter)
        .count(store="letters")
        .to_stream()
        .map(lambda key, count: (f"k{count % 10}", f"{key}{count}"), key=str, value=str)
        .join(table, join=lambda count, name: f"{count}/{name}", value=str)
        .to("out")
    )
    return builder.build()


def headers() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("in", value=str)
    words.map_values(str.upper, value=str).to("copies")
    words.select_key(letter).repartition(value=str, name="again").to("moved")
    words.group_by_key().count(store="counts").to_stream().to("counts", value=int)
    return builder.build()


def by_value_time() -> Topology:
    """Its own times; a record without one gets the highest time of its partition so far."""
    builder = StreamsBuilder()
    words = builder.stream("in", value=str, timestamp_extractor=time_in_value)
    words.to("out")
    return builder.build()


def time_in_value(record: Record[str, str], partition_time: int) -> int:
    value = number(record.key, record.value)
    return partition_time if value % 3 == 0 else value


def first_half() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by(letter).count(store="letters").to_stream().to(
        "middle", value=int
    )
    return builder.build()


def second_half() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("middle", value=int)
        .group_by_key()
        .windowed_by(TimeWindows(ms(1000)))
        .reduce(lambda one, other: one + other, store="sums")
        .to_stream()
        .map(lambda window, total: (window_name(window), total), key=str, value=int)
        .to("out")
    )
    return builder.build()


def window_name(window: Windowed[str]) -> str:
    return f"{window.key}@{window.start}"
