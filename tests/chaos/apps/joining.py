"""Joining: stream with stream, stream with table, table with table, and by foreign keys, where answers come back."""

from __future__ import annotations

from datetime import timedelta

from headrace import JoinWindows, StreamsBuilder

config = {"commit_interval": timedelta(milliseconds=1), "small_batch_records": 50}


def both(left: str | None, right: str | None) -> str:
    return f"{left}+{right}"


def other(key: str, value: str) -> str | None:
    """The values are such as `b17`: they name a key of the other table, but not those with an `a`."""
    return None if value[0] == "a" else f"k{int(value[1:]) % 10}"


builder = StreamsBuilder()
left, right = builder.stream("left", value=str), builder.stream("right", value=str)
windows = JoinWindows(timedelta(milliseconds=20), grace=timedelta(milliseconds=60))
left.join(right, windows=windows, join=both, name="pairs").to("pairs")
left.outer_join(right, windows=windows, join=both, name="outer").to("outer")
rows = builder.table("rows", value=str, store="rows")
others = builder.table("others", value=str, store="others")
left.left_join(rows, join=both, name="looked-up").to("looked-up")
more = builder.table("more", value=str)
rows.outer_join(more, join=both, store="side-by-side", value=str).to_stream().to("side-by-side")
rows.left_join(others, on=other, join=both, value=str, store="by-foreign-key").to_stream().to(
    "by-foreign-key"
)
topology = builder.build()
