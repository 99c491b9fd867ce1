"""Aggregates by key, without windows."""

from __future__ import annotations

from typing import Any

from semantics.scenarios.common import text

from headrace import StreamsBuilder


def group_by_key_count(builder: StreamsBuilder) -> None:
    builder.stream("in", value=str).group_by_key().count(store="counts").to_stream().to("out")


def group_by_reduce(builder: StreamsBuilder) -> None:
    def group(key: Any, value: Any) -> Any:
        return None if value is None or value < 0 else f"{text(key)}/{value % 2}"

    grouped = builder.stream("in", value=int).group_by(group, key=str, value=int)
    grouped.reduce(lambda a, b: a + b, store="sums").to_stream().to("out")


def reduce_null_results(builder: StreamsBuilder) -> None:
    def reduce(so_far: int, value: int) -> Any:
        return None if value <= 0 else so_far * 2 + value

    grouped = builder.stream("in", value=int).group_by_key()
    grouped.reduce(reduce, store="red").to_stream().to("out")


def aggregate_null_results(builder: StreamsBuilder) -> None:
    def add(key: str, value: str, so_far: str) -> Any:
        return None if value[0] == "x" else f"{so_far},{value}"

    grouped = builder.stream("in", value=str).group_by_key()
    grouped.aggregate(lambda: "0", add, value=str, store="agg").to_stream().to("out")


def word_count(builder: StreamsBuilder) -> None:
    (
        builder.stream("lines", value=str)
        .flat_map_values(lambda line: line.lower().split(" "), value=str)
        .group_by(lambda key, word: word, key=str)
        .count(store="word-counts")
        .to_stream()
        .to("counts")
    )


SCENARIOS = {
    "group_by_key_count": group_by_key_count,
    "group_by_reduce": group_by_reduce,
    "reduce_null_results": reduce_null_results,
    "aggregate_null_results": aggregate_null_results,
    "word_count": word_count,
}
