"""Topologies whose sub-topologies are not a chain, for Spark and the test driver; in a module, so that workers find
their functions.
"""

from __future__ import annotations

from headrace import StreamsBuilder, Topology


def both(left: object, right: object) -> str:
    return f"{left}+{right}"


def count_of(value: str) -> int:
    return int(value[1:])


def other(key: str, value: str) -> str | None:
    """The texts of the tests are such as `b17`: they name a key of the other table, but not those with an `a`."""
    return None if value[0] == "a" else f"k{count_of(value) % 10}"


def inner() -> Topology:
    builder = StreamsBuilder()
    left, right = builder.table("left", value=str, store="left"), builder.table("right", value=str)
    left.join(right, on=other, join=both, value=str, store="joined").to_stream().to("inner")
    left.left_join(right, on=other, join=both, value=str, name="named").to_stream().to("outer")
    return builder.build()


def chain() -> Topology:
    builder = StreamsBuilder()
    left, right, third = (builder.table(topic, value=str) for topic in ("left", "right", "third"))
    two = left.join(right, on=other, join=both, value=str)
    three = two.left_join(third, on=lambda key, value: other(key, value.split("+")[1]), join=both, value=str)
    three.to_stream().to("three")
    by_letter = three.group_by(lambda key, value: (value[0], key), key=str, value=str)
    by_letter.count(store="letters").to_stream().to("letters")
    right.join(left, on=other, join=both, value=str).to_stream().to("back")
    return builder.build()


def self_join() -> Topology:
    builder = StreamsBuilder()
    rows = builder.table("in", value=str)
    up = rows.join(rows, on=other, join=both, value=str)
    up.to_stream().to("up")
    rows.left_join(up, on=other, join=both, value=str, store="two").to_stream().to("two-up")
    return builder.build()


def rekeyed() -> Topology:
    builder = StreamsBuilder()
    left = builder.stream("left", value=str).select_key(lambda key, value: f"k{count_of(value) % 7}", key=str)
    right = builder.stream("right", value=str).group_by(lambda key, value: f"k{count_of(value) % 5}", key=str)
    rows, others = left.to_table(), right.reduce(lambda old, new: new, value=str)
    rows.join(others, on=other, join=both, value=str, store="joined").to_stream().to("inner")
    others.left_join(rows, on=other, join=both, value=str).to_stream().to("outer")
    return builder.build()


def same_table_twice() -> Topology:
    """A stream looks into a table, is counted under another key, and comes back to the same table."""
    builder = StreamsBuilder()
    table = builder.table("table", value=str)
    found = builder.stream("stream", value=str).left_join(table, join=both, value=str)
    counts = found.group_by(lambda key, value: value[0], key=str).count(store="counts")
    again = counts.to_stream().select_key(lambda key, count: f"k{count % 10}", key=str)
    again.left_join(table, join=both, value=str).to("again")
    return builder.build()
