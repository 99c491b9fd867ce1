"""Let through the orders of 1,000 and more, and keep of them what the fraud team needs.

Stateless: no store, no internal topic; a crash costs nothing but reading on from the last commit.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace import StreamsBuilder


@dataclass
class Order:
    """Its key is the order's id."""

    customer_id: str
    total_amount: float


@dataclass
class HighValueOrder:
    """Who spent how much."""

    customer_id: str
    total_amount: float


def high_value(order: Order) -> HighValueOrder:
    return HighValueOrder(order.customer_id, order.total_amount)


builder = StreamsBuilder()
(
    builder.stream("orders.created.v1", key=str, value=Order)
    .filter(lambda _, order: order.total_amount >= 1000, name="at-least-1000")
    .map_values(high_value, name="high-value")
    .to("orders.high-value.v1", key=str, value=HighValueOrder)
)
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    print(topology.describe())
    with Streams(topology, application_id="high-value-orders") as streams:
        streams.wait()
