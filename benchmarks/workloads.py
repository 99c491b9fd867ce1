"""The workloads of the benchmarks, as Headrace topologies. See README.md and peers/README.md for what they are."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from headrace import StreamsBuilder, TimeWindows, Topology


class Order(msgspec.Struct):
    order_id: str
    customer: str
    amount: float
    status: str
    ts: int


class Total(msgspec.Struct, frozen=True):
    n: int
    total: float
    ts: int


class Paid(msgspec.Struct):
    order_id: str
    customer: str
    cents: int
    ts: int


class WindowCount(msgspec.Struct):
    start: int
    n: int


def add(customer: str, order: Order, total: Total) -> Total:
    return Total(total.n + 1, total.total + order.amount, order.ts)


def w1(source: str = "orders", sink: str = "totals") -> Topology:
    """Filter 10 % away, re-key by customer, aggregate count and sum, write every update."""
    builder = StreamsBuilder()
    (
        builder.stream(source, value=Order)
        .filter(lambda _, order: order.status != "cancelled")
        .group_by(lambda _, order: order.customer, name="customer")
        .aggregate(lambda: Total(0, 0.0, 0), add, value=Total, store="totals")
        .to_stream()
        .to(sink, value=Total)
    )
    return builder.build()


def w2(source: str = "orders", sink: str = "paid") -> Topology:
    """Filter and map values."""
    builder = StreamsBuilder()
    (
        builder.stream(source, value=Order)
        .filter(lambda _, order: order.status != "cancelled")
        .map_values(
            lambda order: Paid(order.order_id, order.customer, round(order.amount * 100), order.ts),
            value=Paid,
        )
        .to(sink, value=Paid)
    )
    return builder.build()


def w3(source: str = "orders", sink: str = "counts") -> Topology:
    """Count per key in one-minute windows, without re-keying."""
    builder = StreamsBuilder()
    (
        builder.stream(source, value=Order)
        .group_by_key()
        .windowed_by(TimeWindows(timedelta(minutes=1)))
        .count(store="counts")
        .to_stream()
        .map(lambda window, n: (window.key, WindowCount(window.start, n)))
        .to(sink, value=WindowCount)
    )
    return builder.build()
