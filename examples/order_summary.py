"""What each customer has ordered so far: how many, for how much, the largest one; and the revenue beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace import StreamsBuilder


@dataclass
class Order:
    order_id: str
    customer_id: str
    total_amount: float


@dataclass(frozen=True)
class OrderSummary:
    orders: int = 0
    total: float = 0.0
    largest: str | None = None
    largest_amount: float = 0.0


def add_order(customer_id: str, order: Order, summary: OrderSummary) -> OrderSummary:
    summary = replace(summary, orders=summary.orders + 1, total=summary.total + order.total_amount)
    if order.total_amount > summary.largest_amount:
        return replace(summary, largest=order.order_id, largest_amount=order.total_amount)
    return summary


builder = StreamsBuilder()
by_customer = builder.stream("orders", value=Order).group_by(
    lambda _, order: order.customer_id, name="by-customer"
)
(
    by_customer.aggregate(OrderSummary, add_order, value=OrderSummary, store="order-summary-store")
    .to_stream()
    .to("order-summaries", value=OrderSummary)
)
(
    by_customer.aggregate(
        lambda: 0.0, lambda _, order, total: total + order.total_amount, value=float, store="revenue-store"
    )
    .to_stream()
    .to("revenue", value=float)
)
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    with Streams(topology, application_id="order-summary") as streams:
        streams.wait()
