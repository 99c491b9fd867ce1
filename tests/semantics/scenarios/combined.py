"""What users build of several operators."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from semantics.scenarios.common import ms, text

from headrace import (
    EmitStrategy,
    JoinWindows,
    Materialized,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Topology,
    UnlimitedWindows,
    key_value_store,
)

Context = ProcessorContext[Any, Any]


def unlimited_windows(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in", value=str).group_by_key()
    grouped.windowed_by(UnlimitedWindows()).count(store="all").to_stream().to("all-out")
    later = UnlimitedWindows(start=datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=100))
    reduced = grouped.windowed_by(later).reduce(lambda a, b: (text(a) + text(b))[-12:], store="late")
    reduced.to_stream().to("late-out")


def windows_of_windows(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in", value=str).group_by_key()
    counts = grouped.windowed_by(TimeWindows(ms(20), grace=ms(10))).count(store="first").to_stream()
    again = (
        counts.select_key(lambda window, n: f"w{window.start // 20 % 3}", key=str)
        .map_values(text, value=str)
        .group_by_key()
        .windowed_by(TimeWindows(ms(60), advance=ms(30), grace=ms(10)))
    )
    joined = again.aggregate(
        str, lambda key, value, so_far: (so_far + value)[-12:], value=str, store="second"
    )
    joined.to_stream().to("again")
    final = again.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    last = final.count(store=Materialized("third", retention=ms(100_000))).to_stream()
    table = last.select_key(lambda window, n: window.key, key=str).to_table(store="latest")
    asks = builder.stream("asks", value=str)
    asks.left_join(table, join=lambda ask, n: f"{text(ask)}:{text(n)}", value=str).to("answers")


def sessions_of_joined(builder: StreamsBuilder) -> None:
    left, right = builder.stream("left", value=str), builder.stream("right", value=str)
    windows = JoinWindows(ms(15), grace=ms(5))
    joined = left.left_join(right, windows=windows, join=lambda a, b: text(a) + text(b), value=str)
    sessions = joined.group_by_key().windowed_by(SessionWindows(ms(25), grace=ms(10)))
    table = sessions.aggregate(
        int, lambda key, value, n: n + 1, lambda key, a, b: a + b, value=int, store="n"
    )
    table.filter(lambda window, n: n > 1).to_stream().to("many")
    grouped = table.group_by(lambda window, n: (str(window.end - window.start > 20), n), key=str, value=int)
    sums = grouped.aggregate(
        int, lambda key, n, total: total + n, lambda key, n, total: total - n, value=int, store="sums"
    )
    sums.to_stream().to("sums-out")


def left_joins_in_a_row(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=str)
    updates = builder.stream("updates", value=str).filter(lambda key, value: value is None or value[0] != "x")
    kept = updates.to_table(store="u")
    everywhere = builder.global_table("global", value=str, store="g")
    first = builder.stream("in", value=str).left_join(
        table, join=lambda x, y: f"{text(x)}+{text(y)}", value=str
    )
    first.to("first")
    second = first.left_join(
        kept, join=lambda x, y: None if y is not None and y[1] == "1" else f"{x}*{text(y)}", value=str
    )
    second.to("second")
    third = second.left_join(
        everywhere, on=lambda key, value: value and value[:2], join=lambda x, y: f"{x}/{text(y)}", value=str
    )
    third.to("third")


def cogroup_grouped_again(builder: StreamsBuilder) -> None:
    one, other = (builder.stream(topic, value=str).group_by_key() for topic in "ab")
    table = (
        one.cogroup(lambda key, value, so_far: (so_far + value)[-4:], value=str)
        .cogroup(other, lambda key, value, so_far: None if value[0] == "x" else (so_far + value[0])[-4:])
        .aggregate(str, store="c")
    )
    table.to_stream().to("rows")
    again = table.group_by(lambda key, value: (value[-1:], value), key=str, value=str).aggregate(
        str,
        lambda key, value, so_far: f"{so_far}+{value}"[-20:],
        lambda key, value, so_far: f"{so_far}-{value}"[-20:],
        value=str,
        store="again",
    )
    again.to_stream().to("again-out")
    joined = table.outer_join(
        builder.table("t", value=str), join=lambda x, y: f"{text(x)}|{text(y)}", value=str
    )
    joined.filter(lambda key, value: value[-1] != "4").to_stream().to("joined")


def sources_of_many_topics(builder: StreamsBuilder) -> None:
    both, matching = builder.stream(["a", "b"], value=str), builder.stream(re.compile("p-.*"), value=str)
    once, twice = builder.stream("c", value=str), builder.stream("c", value=str)
    merged = both.merge(matching).merge(once.map_values(lambda value: f"{text(value)}!", value=str))
    branches = (
        merged.split(name="by-")
        .branch(lambda key, value: key is None, name="none")
        .branch(lambda key, value: value is not None and value[0] == "a", name="a")
        .default_branch(name="rest")
    )
    rekeyed = branches["by-a"].select_key(lambda key, value: value[-1], key=str)
    rekeyed.repartition(name="again", partitions=3).merge(branches["by-rest"]).to("out")
    branches["by-none"].foreach(lambda key, value: None)
    twice.peek(lambda key, value: None).filter_not(lambda key, value: value is None).to("twice")


class Sorting(Processor[Any, Any, Any, Any]):
    """Forwards to `even` or `odd` by the length of what it has of a key, and by stream time tells both."""

    def init(self, context: Context) -> None:
        super().init(context)
        self.seen, self.counts = (context.get_state_store(name) for name in ("seen", "counts"))
        context.schedule(ms(60), PunctuationType.STREAM_TIME, self.tell)

    def tell(self, time: int) -> None:
        for key, count in self.counts.all():
            self.context.forward(Record(key, f"total{count}", time))

    def process(self, record: Record[Any, Any]) -> None:
        if record.key is None or record.value is None:
            return
        now = (text(self.seen.get(record.key)) + record.value)[-9:]
        self.seen.put(record.key, now)
        self.counts.put(record.key, (self.counts.get(record.key) or 0) + 1)
        self.context.forward(record.with_value(now), "odd" if len(now) % 2 else "even")


class Marking(Processor[Any, Any, Any, Any]):
    """Marks what it gets, counts in the store that it shares with the other, and by the wall clock tells the store."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def init(self, context: Context) -> None:
        super().init(context)
        self.shared = context.get_state_store("shared")
        if self.mark == "o":
            context.schedule(ms(80), PunctuationType.WALL_CLOCK_TIME, self.tell)

    def tell(self, time: int) -> None:
        for key, count in self.shared.all():
            self.context.forward(Record(key, f"clock{count}", time))

    def process(self, record: Record[Any, Any]) -> None:
        count = (self.shared.get(self.mark) or 0) + 1
        self.shared.put(self.mark, count)
        marked = record.with_value(f"{self.mark}{count}{record.value}")
        self.context.forward(marked.with_timestamp(record.timestamp + count % 3))


def processors_in_a_row(builder: StreamsBuilder) -> Topology:
    return (
        Topology()
        .add_source("source", "in", value=str)
        .add_processor("sorting", Sorting, "source")
        .add_processor("even", partial(Marking, "e"), "sorting")
        .add_processor("odd", partial(Marking, "o"), "sorting")
        .add_state_store(key_value_store("seen", key=str, value=str), "sorting")
        .add_state_store(key_value_store("counts", key=str, value=int), "sorting")
        .add_state_store(key_value_store("shared", key=str, value=int), ["even", "odd"])
        .add_sink("all", "all-out", ["even", "odd"], value=str)
        .add_sink("only", "odd-out", "odd", value=str)
    )


SCENARIOS = {
    function.__name__: function
    for function in (
        unlimited_windows,
        windows_of_windows,
        sessions_of_joined,
        left_joins_in_a_row,
        cogroup_grouped_again,
        sources_of_many_topics,
        processors_in_a_row,
    )
}
