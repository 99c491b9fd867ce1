"""Topologies whose sub-topologies are not a chain, for Spark and the test driver; in a module, so that workers find
their functions.
"""

from __future__ import annotations

import re

from headrace import Processor, Record, StreamsBuilder, Topology, key_value_store


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


def own_topic() -> Topology:
    """Through a topic of the user's that the application reads again, twice, one of them found by a pattern."""
    builder = StreamsBuilder()
    words = builder.stream("in", value=str).map(lambda key, value: (value[0], value), key=str, value=str)
    words.to("middle")
    counts = builder.stream("middle", value=str).group_by_key().count(store="counts")
    counts.to_stream().to(lambda key, count, metadata: "more-counts", value=int)
    again = builder.stream(re.compile("more-.*"), value=int).select_key(lambda key, n: f"n{n % 3}", key=str)
    again.group_by_key().reduce(max, store="highest").to_stream().to("highest")
    return builder.build()


class Adds(Processor[str, int, str, int]):
    """Adds to a sum under each key, and sends it on."""

    def process(self, record: Record[str, int]) -> None:
        store = self.context.get_state_store("sums")
        total = (store.get(record.key) or 0) + record.value
        store.put(record.key, total)
        self.context.forward(record.with_value(total))


def one_store_at_two_depths() -> Topology:
    """Two processors behind each other share a store, with a repartition in between."""
    builder = StreamsBuilder()
    builder.add_state_store(key_value_store("sums", key=str, value=int))
    numbers = builder.stream("in", value=str).map_values(count_of, value=int)
    first = numbers.process(Adds, stores=["sums"], key=str, value=int)
    rekeyed = first.select_key(lambda key, total: f"r{total % 5}", key=str).map_values(
        lambda total: 1, value=int
    )
    rekeyed.repartition().process(Adds, stores=["sums"], key=str, value=int).to("out")
    return builder.build()


def counts_of_itself() -> Topology:
    """A stream meets the counts that it makes itself."""
    builder = StreamsBuilder()
    stream = builder.stream("in", value=str)
    counts = stream.group_by(lambda key, value: f"k{count_of(value) % 10}", key=str).count(store="counts")
    stream.left_join(counts, join=both, value=str).to("joined")
    counts.to_stream().to("counts")
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
