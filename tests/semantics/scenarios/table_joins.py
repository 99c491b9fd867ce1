"""Joins of tables with tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semantics.scenarios.common import text

from headrace import KTable, StreamsBuilder


def both(left: object, right: object) -> str:
    return f"{text(left)}+{text(right)}"


def _tables(builder: StreamsBuilder) -> tuple[KTable[str, str], KTable[str, str]]:
    return builder.table("left", value=str, store="l"), builder.table("right", value=str, store="r")


def table_table_inner(builder: StreamsBuilder) -> None:
    left, right = _tables(builder)
    left.join(right, join=both, store="j").to_stream().to("out")


def table_table_inner_not_materialized(builder: StreamsBuilder) -> None:
    left, right = _tables(builder)
    left.join(right, join=both).to_stream().to("out")


def table_table_left(builder: StreamsBuilder) -> None:
    left, right = _tables(builder)
    left.left_join(right, join=both, store="j").to_stream().to("out")


def table_table_outer(builder: StreamsBuilder) -> None:
    left, right = _tables(builder)
    left.outer_join(right, join=both, store="j").to_stream().to("out")


def _chain(join: Callable[..., Any]) -> Callable[[StreamsBuilder], None]:
    """Three tables joined; `join` is a method of `KTable`."""

    def build(builder: StreamsBuilder) -> None:
        left, right, third = (builder.table(topic, value=str) for topic in ("left", "right", "third"))
        two = join(left, right, join=both)
        mapped = third.map_values(lambda value: None if value[-1] == "3" else f"{value}!", value=str)
        three = join(two, mapped, join=both)
        three.to_stream().to("out")
        by_length = three.group_by(lambda key, value: (str(len(value)), value), key=str, value=str)
        by_length.count(store="n").to_stream().to("counts")
        filtered = two.filter(lambda key, value: value[-1] != "4")
        join(third, filtered, join=both, store="back").to_stream().to("back-out")

    return build


def table_table_null_results(builder: StreamsBuilder) -> None:
    def some(left: Any, right: Any) -> Any:
        return None if right is not None and right[-1] == "1" else both(left, right)

    left, right = builder.table("left", value=str), builder.table("right", value=str)
    left.left_join(right, join=some, value=str, store="j").to_stream().to("out")
    outer = left.outer_join(right, join=some, value=str)
    outer.filter(lambda key, value: value[0] != "n").to_stream().to("outer")
    left.left_join(left, join=some, value=str).to_stream().to("self")


def stream_table_without_store(builder: StreamsBuilder) -> None:
    table, other = builder.table("table", value=str), builder.stream("other", value=str).to_table()
    filtered = table.filter(lambda key, value: value[-1] != "2")
    stream = builder.stream("stream", value=str)
    stream.join(filtered.map_values(lambda value: f"{value}!"), join=both).to("filtered")
    stream.left_join(table.outer_join(other, join=both), join=both).to("joined")
    joined = filtered.left_join(other, join=both)
    stream.left_join(joined.map_values(lambda key, value: key + value, with_key=True), join=both).to("mapped")


SCENARIOS = {
    "table_table_inner": table_table_inner,
    "table_table_inner_not_materialized": table_table_inner_not_materialized,
    "table_table_left": table_table_left,
    "table_table_outer": table_table_outer,
    "table_table_chain_inner": _chain(KTable.join),
    "table_table_chain_left": _chain(KTable.left_join),
    "table_table_chain_outer": _chain(KTable.outer_join),
    "table_table_null_results": table_table_null_results,
    "stream_table_without_store": stream_table_without_store,
}
