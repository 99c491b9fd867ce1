"""Joins of a stream with a table or a global table."""

from __future__ import annotations

from typing import Any

from semantics.scenarios.common import text

from headrace import StreamsBuilder


def _plus(left: object, right: object) -> str:
    return f"{text(left)}+{text(right)}"


def _letter(key: Any, value: Any) -> Any:
    return None if value is None or value[0] == "x" else value[0]


def _with_key(key: object, left: object, right: object) -> str:
    return f"{text(key)}:{_plus(left, right)}"


def stream_table_inner(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=str, store="t")
    builder.stream("stream", value=str).join(table, join=_with_key, with_key=True).to("out")


def stream_table_left(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=str, store="t")
    builder.stream("stream", value=str).left_join(table, join=_with_key, with_key=True).to("out")


def stream_table_inner_rekeyed(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=int, store="t")
    rekeyed = builder.stream("stream", value=str).select_key(_letter, key=str)
    rekeyed.join(table, join=_plus, name="j").to("out")


def stream_table_left_rekeyed(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=int, store="t")
    rekeyed = builder.stream("stream", value=str).select_key(_letter, key=str)
    rekeyed.left_join(table, join=_plus, name="j").to("out")


def stream_globaltable_inner(builder: StreamsBuilder) -> None:
    table = builder.global_table("global", value=str, store="g")
    joined = builder.stream("stream", value=str).join(table, on=_letter, join=_with_key, with_key=True)
    joined.to("out")


def stream_globaltable_left(builder: StreamsBuilder) -> None:
    table = builder.global_table("global", value=str, store="g")
    joined = builder.stream("stream", value=str).left_join(table, on=_letter, join=_with_key, with_key=True)
    joined.to("out")


def stream_globaltable_left_rekeyed(builder: StreamsBuilder) -> None:
    table = builder.global_table("global", value=int, store="g")
    rekeyed = builder.stream("stream", value=str).select_key(_letter, key=str)
    joined = rekeyed.left_join(table, on=lambda key, value: key, join=_plus)
    joined.to("out")
    joined.group_by_key().count(store="n").to_stream().to("counts")


SCENARIOS = {
    "stream_table_inner": stream_table_inner,
    "stream_table_left": stream_table_left,
    "stream_table_inner_rekeyed": stream_table_inner_rekeyed,
    "stream_table_left_rekeyed": stream_table_left_rekeyed,
    "stream_globaltable_inner": stream_globaltable_inner,
    "stream_globaltable_left": stream_globaltable_left,
    "stream_globaltable_left_rekeyed": stream_globaltable_left_rekeyed,
}
