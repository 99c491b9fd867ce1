"""Versioned stores and tables."""

from __future__ import annotations

from typing import Any

from semantics.scenarios.common import ms, text

from headrace import Materialized, StreamsBuilder


def history(name: str, retention: int, interval: int | None = None) -> Materialized[Any, Any]:
    """A versioned store."""
    return Materialized(
        name,
        history_retention=ms(retention),
        segment_interval=None if interval is None else ms(interval),
    )


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


SCENARIOS = {
    function.__name__: function for function in (stream_table_versioned_inner, versioned_table_out_of_order)
}
