"""Optimised topologies that run on Spark and in the test driver; in a module, so that workers find their functions."""

from __future__ import annotations

from typing import Any

from headrace import JoinWindows, Processor, Record, StreamsBuilder, Topology
from tests.spark.topologies import letter, ms


def both(left: object, right: object) -> str:
    return f"{left}+{right}"


def a_second_later(record: Record[Any, Any], highest: int) -> int:
    """The topic's own times are not those of the table."""
    return record.timestamp + 1000


def tables(optimization: str) -> Topology:
    """A table of numbers, so that a text of another length cannot be read, joined with a table and with a stream."""
    builder = StreamsBuilder()
    numbers = builder.table("numbers", value=int, store="numbers", timestamp_extractor=a_second_later)
    names = builder.table("names", value=str, store="names")
    numbers.outer_join(names, join=both, value=str).to_stream().to("pairs")
    builder.stream("in", value=str).left_join(numbers, join=both, value=str).to("joined")
    return builder.build(optimization=optimization)


def self_join(optimization: str) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", value=str)
    windows = JoinWindows(ms(20), before=ms(5), grace=ms(30))
    stream.join(stream, windows=windows, join=both, value=str).to("joined")
    return builder.build(optimization=optimization)


class Length(Processor[str, str, str, int]):
    """Another type of value, which the merged repartition in front must not be written as."""

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record.with_value(len(record.value)))


def merged(optimization: str) -> Topology:
    builder = StreamsBuilder()
    names = builder.global_table("names", value=str, store="names")
    letters = builder.stream("in", value=str).select_key(letter, key=str)
    letters.process_values(Length, value=int).group_by_key().reduce(
        lambda a, b: a + b, store="lengths"
    ).to_stream().to("lengths")
    letters.filter(lambda key, value: value is not None).group_by_key().count(store="counts").to_stream().to(
        "counts"
    )
    named = letters.join(names, on=lambda key, value: key, join=lambda value, name: len(name), value=int)
    named.group_by_key().reduce(max, store="named").to_stream().to("named")
    letters.merge(builder.stream("more", value=str)).to_table(store="last").to_stream().to("last")
    return builder.build(optimization=optimization)


def counted(*, more: bool) -> Topology:
    """With `more`, another sub-topology comes first."""
    builder = StreamsBuilder()
    if more:
        builder.stream("more", value=str).group_by_key().count(store="first")
    builder.stream("in", value=str).group_by_key().count(store="counts").to_stream().to("counts")
    return builder.build()
