"""Versioned stores and tables."""

from __future__ import annotations

from typing import Any

from semantics.scenarios.common import ms, text

from headrace import (
    Materialized,
    Processor,
    Record,
    StreamsBuilder,
    ValueTransformer,
    versioned_key_value_store,
)


def history(name: str, retention: int, interval: int | None = None) -> Materialized[Any, Any]:
    """A versioned store."""
    return Materialized(
        name,
        history_retention=ms(retention),
        segment_interval=None if interval is None else ms(interval),
    )


def tail(value: str) -> str:
    return value[-24:]


def plus(left: object, right: object) -> str:
    return f"{text(left)}+{text(right)}"


def stream_table_versioned_inner(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=str, store=history("t", 200))
    builder.stream("stream", value=str).join(table, join=plus).to("out")


def versioned_table_out_of_order(builder: StreamsBuilder) -> None:
    table = builder.table("in", value=str, store=history("t", 150))
    table.to_stream().to("all")
    table.filter(lambda key, value: value[0] != "x").to_stream().to("filtered")
    counts = table.group_by(lambda key, value: (value[0], value), key=str, value=str).count(store="n")
    counts.to_stream().to("counts")


def versioned_table_joins(builder: StreamsBuilder) -> None:
    versioned = builder.table("versioned", value=str, store=history("v", 150))
    plain = builder.table("plain", value=str, store="p")
    versioned.join(plain, join=plus, value=str).to_stream().to("inner")
    versioned.left_join(plain, join=plus, value=str).to_stream().to("left")
    versioned.outer_join(plain, join=plus, value=str).to_stream().to("outer")
    plain.left_join(versioned, join=plus, value=str).to_stream().to("right")


def by_length(key: str, value: str) -> tuple[str, str]:
    return str(len(value)), value


def versioned_join_kept(builder: StreamsBuilder) -> None:
    left = builder.table("a", value=str, store=history("sa", 200))
    right = builder.table("b", value=str, store=history("sb", 100))
    joined = left.outer_join(right, join=plus, value=str, store=history("j", 120))
    joined.to_stream().to("joined")
    joined.group_by(by_length).count(store="n").to_stream().to("counts")
    plain = left.join(right, join=plus, value=str, store="p")
    plain.group_by(by_length).count(store="m").to_stream().to("plain")


class Shown(ValueTransformer[str, int, str]):
    def transform(self, key: str, value: int | None) -> str:
        return f"{text(key)}:{text(value)}"


def versioned_stream_join_views(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=int, store=history("t", 300, 40))
    other = builder.table("other", value=int, store=history("u", 100))
    stream = builder.stream("stream", value=str)
    views = table.filter(even).map_values(lambda value: f"m{value}", value=str)
    stream.left_join(views, join=plus).to("views")
    stream.left_join(table.transform_values(Shown), join=plus).to("transformed")
    joined = table.join(other, join=lambda a, b: a * 100 + b, value=int)
    stream.left_join(joined, join=plus).to("joined")
    plain = table.map_values(lambda value: value + 1, value=int, store="plain")
    stream.left_join(plain, join=plus).to("plain")
    kept = table.map_values(lambda value: value + 2, value=int, store=history("kept", 50))
    stream.left_join(kept, join=plus).to("kept")


def versioned_segments(builder: StreamsBuilder) -> None:
    table = (
        builder.stream("table", value=int)
        .select_key(lambda key, value: f"k{0 if value is None else value % 2}", key=str)
        .to_table(store=history("t", 60, 7))
    )
    builder.stream("stream", value=str).left_join(table, join=plus).to("out")
    table.to_stream().to("all")


def added(total: int, value: int) -> int:
    return total + value


def removed(total: int, value: int) -> int:
    return total - value


def even(key: str, value: int) -> bool:
    return value % 2 == 0


def versioned_aggregates(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in", value=int).group_by_key()
    counts = grouped.count(store=history("c", 100))
    counts.to_stream().to("counts")
    grouped.reduce(added, store=history("r", 100)).to_stream().to("sums")
    aggregates = grouped.aggregate(
        str, lambda k, v, a: None if v < 0 else tail(a + str(v)), value=str, store=history("a", 100)
    )
    aggregates.filter(lambda key, value: len(value) % 2 == 0).to_stream().to("aggregates")
    parities = counts.group_by(lambda key, n: ("odd" if n % 2 else "even", n), key=str, value=int)
    parities.reduce(added, removed, store="by").to_stream().to("parities")
    builder.stream("stream", value=str).join(counts, join=lambda v, n: f"{v}@{n}").to("joined", value=str)


def versioned_groups(builder: StreamsBuilder) -> None:
    table = builder.table("in", value=int, store=history("t", 200))
    grouped = table.group_by(lambda key, value: (f"g{value % 2}", value), key=str, value=int)
    grouped.count(store=history("n", 80)).to_stream().to("counts")
    grouped.reduce(added, removed, store=history("red", 80)).to_stream().to("sums")
    squares = grouped.aggregate(
        int,
        lambda key, value, total: total + value * value,
        lambda key, value, total: total - value * value,
        store=history("agg", 80),
    )
    squares.map_values(lambda value: value + 1, value=int).to_stream().to("squares")
    x, y = (builder.stream(topic, value=str).group_by_key() for topic in "xy")
    both = x.cogroup(lambda k, v, a: tail(a + v), value=str).cogroup(y, lambda k, v, a: tail(v + a))
    both.aggregate(str, store=history("co", 80)).to_stream().to("cogrouped")


def versioned_values(builder: StreamsBuilder) -> None:
    table = builder.table("in", value=int, store=history("t", 200))
    table.filter(even).to_stream().to("filtered")
    table.filter_not(even, store=history("odd", 60)).to_stream().to("odd")
    table.filter(even, store="plain").filter(lambda key, value: value > 2).to_stream().to("plain")
    mapped = table.map_values(lambda v: f"m{v}" if v else None, value=str, store=history("m", 100))
    mapped.to_stream().to("mapped")
    stores = (None, "p2", Materialized[Any, int](value=int), history("v4", 60))
    for number, store in enumerate(stores, start=1):
        grouped = table.filter(even, store=store).group_by(
            lambda key, value: ("g", value), key=str, value=int
        )
        grouped.reduce(added, removed, store=f"r{number}").to_stream().to(f"g{number}")


class Versions(Processor[str, int, str, str]):
    def process(self, record: Record[str, int]) -> None:
        store = self.context.get_state_store("s")
        key, value, time = record.key, record.value, record.timestamp
        if value is None or value > 6:
            answer = self.show(store.delete(key, time if value is None else max(0, time - 30)))
        else:
            valid_to = store.put(key, value, time)
            answer = "too late" if valid_to == store.NOT_PUT else str(valid_to)
        now, before = store.get(key), store.get(key, max(0, time - 20))
        self.context.forward(record.with_value(f"{answer} {self.show(now)} {self.show(before)}"))

    def show(self, found: Any) -> str:
        return "null" if found is None else f"{found.value}@{found.timestamp}"


def versioned_processor(builder: StreamsBuilder) -> None:
    builder.add_state_store(
        versioned_key_value_store("s", history_retention=ms(100), segment_interval=ms(15), key=str, value=int)
    )
    builder.stream("in", value=int).process(Versions, stores=["s"]).to("out", value=str)


SCENARIOS = {
    function.__name__: function
    for function in (
        stream_table_versioned_inner,
        versioned_aggregates,
        versioned_groups,
        versioned_join_kept,
        versioned_processor,
        versioned_segments,
        versioned_stream_join_views,
        versioned_table_joins,
        versioned_table_out_of_order,
        versioned_values,
    )
}
