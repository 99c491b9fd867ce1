"""Count orders by customer.

The orders' key is the order's id, so grouping by customer sends them through a repartition topic; the counts are in a
store with a changelog. What this application owns beside its topics:

    customer-order-counts-by-customer-repartition
    customer-order-counts-order-count-by-customer-changelog

On Spark the repartition is a shuffle: the topic of that name is never made.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace import StreamsBuilder


@dataclass
class Order:
    """Its key is the order's id."""

    customer_id: str
    total_amount: float


builder = StreamsBuilder()
(
    builder.stream("orders.created.v1", value=Order)
    .group_by(lambda _, order: order.customer_id, name="by-customer")
    .count(store="order-count-by-customer")
    .to_stream()
    .to("customer-order-counts.v1", value=int)
)
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    print(topology.describe())
    with Streams(topology, application_id="customer-order-counts") as streams:
        streams.wait()
