"""Topologies of tables that run on Spark and in the test driver; in a module, so that workers find their classes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headrace import Materialized, StreamsBuilder, Topology


@dataclass
class Group:
    rows: int
    total: int


def number(value: str) -> int:
    """The values of the tests are texts such as `b17`."""
    return int(value[1:])


def both(left: str | None, right: str | None) -> str:
    return f"{left}+{right}"


def add(group: str, value: int, so_far: Group) -> Group:
    return Group(so_far.rows + 1, so_far.total + value)


def subtract(group: str, value: int, so_far: Group) -> Group | None:
    # A group without rows is deleted.
    return Group(so_far.rows - 1, so_far.total - value) if so_far.rows > 1 else None


def values() -> Topology:
    builder = StreamsBuilder()
    table = builder.table("in", value=str, store="rows")
    numbers = table.map_values(number, value=int)
    numbers.filter(lambda key, value: value % 2 == 0, store="even").to_stream().to("even")
    numbers.filter_not(lambda key, value: value % 3 == 0).to_stream().to("rest")
    upper = builder.stream("in-2", value=str).select_key(lambda key, value: value[0], key=str).to_table()
    upper.map_values(lambda key, value: f"{key}:{value}", with_key=True, value=str).to_stream().to("last")
    return builder.build()


def groups() -> Topology:
    builder = StreamsBuilder()
    table = builder.table("in", value=str)
    table.group_by(lambda key, value: (value[0], value), key=str, value=str).count(
        store="letters"
    ).to_stream().to("letters", value=int)
    by_rest = table.group_by(
        lambda key, value: (f"mod-{number(value) % 5}", number(value)), key=str, value=int
    )
    by_rest.reduce(lambda a, b: a + b, lambda a, b: a - b, store="sums").to_stream().to("sums")
    totals = by_rest.aggregate(lambda: Group(0, 0), add, subtract, value=Group, store="groups")
    totals.filter(lambda group, total: total.rows > 1).to_stream().to("groups")
    return builder.build()


def joins() -> Topology:
    builder = StreamsBuilder()
    left, right = builder.table("left", value=str), builder.table("right", value=str)
    left.join(right, join=both, value=str, store="inner").to_stream().to("inner")
    left.left_join(right, join=both, value=str).to_stream().to("left-joined")
    outer = left.outer_join(right, join=both, value=str)
    outer.to_stream().to("outer")
    third = builder.table("third", value=str).filter(lambda key, value: number(value) % 2 == 0)
    outer.left_join(third, join=both, value=str, store="chain").to_stream().to("chain")
    builder.stream("stream", value=str).left_join(outer, join=both, value=str).to("looked-up")
    return builder.build()


def history(name: str, milliseconds: int) -> Materialized[str, Any]:
    """A versioned store."""
    return Materialized(name, history_retention=timedelta(milliseconds=milliseconds))


def versioned() -> Topology:
    """No repartition: a partition's time moves by its own records only."""
    builder = StreamsBuilder()
    prices = builder.table("prices", value=str, store=history("prices", 60))
    orders = builder.stream("orders", value=str)
    orders.left_join(prices, join=both, value=str).to("bills")
    orders.left_join(prices.map_values(str.upper, value=str), join=both, value=str).to("loud")
    prices.to_stream().to("all")
    names = builder.table("names", value=str, store="names")
    prices.left_join(names, join=both, value=str, store=history("named", 40)).to_stream().to("named")
    counts = orders.group_by_key().count(store=history("counts", 50))
    counts.filter(lambda key, count: count % 2 == 0).to_stream().to("even", value=int)
    return builder.build()
