"""What is piped into the examples, in the driver and on Spark: each record is (topic, key, value, timestamp)."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from examples import (
    card_payments,
    custom_store,
    customer_order_counts,
    four_windows,
    high_value_orders,
    order_enrichment,
    order_pipeline,
    order_summary,
    running_total,
    suspicious_bursts,
)

SECOND, MINUTE = 1_000, 60_000

HIGH_VALUE_ORDERS = [
    ("orders.created.v1", "o1", high_value_orders.Order("alice", 999.99), 1),
    ("orders.created.v1", "o2", high_value_orders.Order("bob", 1000.0), 2),
    ("orders.created.v1", "o3", high_value_orders.Order("alice", 2500.0), 3),
]

CUSTOMER_ORDER_COUNTS = [
    ("orders.created.v1", "o1", customer_order_counts.Order("alice", 5.0), 1),
    ("orders.created.v1", "o2", customer_order_counts.Order("bob", 5.0), 2),
    ("orders.created.v1", "o3", customer_order_counts.Order("alice", 5.0), 3),
]


def _order(order: str, customer: str, product: str, amount: float) -> order_enrichment.Order:
    return order_enrichment.Order(order, customer, product, amount)


ORDER_ENRICHMENT = [
    ("product-catalog", "p1", order_enrichment.Product("kettle", 20.0), 1),
    ("customers", "alice", order_enrichment.Customer("Alice", "gold"), 1),
    ("orders", "o1", _order("o1", "alice", "p1", 40.0), 10 * SECOND),
    ("payments", "o2", order_enrichment.Payment(999), 15 * SECOND),
    ("orders", "o2", _order("o2", "bob", "p9", 10.0), 20 * SECOND),
    ("customers", "alice", order_enrichment.Customer("Alice", "platinum"), 30 * SECOND),
    ("payments", "o1", order_enrichment.Payment(4000), 40 * SECOND),
    ("orders", "o3", _order("o3", "alice", "p1", 20.0), 41 * SECOND),
    ("payments", "o3", order_enrichment.Payment(2000), 72 * SECOND),
]

FOUR_WINDOWS = [
    ("events", "ann", "click", 1 * MINUTE),
    ("events", "ann", "click", 4 * MINUTE),
    ("events", "ann", "click", 7 * MINUTE),
    ("events", "ann", "click", 20 * MINUTE),
]

RUNNING_TOTAL = [
    ("amounts", "a", 5, 1),
    ("amounts", "b", 1, 2),
    ("amounts", "a", -2, 3),
]

ORDER_SUMMARY = [
    ("orders", "o1", order_summary.Order("o1", "alice", 10.0), 1),
    ("orders", "o2", order_summary.Order("o2", "alice", 30.0), 2),
    ("orders", "o3", order_summary.Order("o3", "alice", 20.0), 3),
]

SUSPICIOUS_BURSTS = [
    *(
        ("transactions", "eve", suspicious_bursts.Transaction(10.0, "Rome"), number * SECOND)
        for number in range(1, 6)
    ),
    ("transactions", "sam", suspicious_bursts.Transaction(9000.0, "Oslo"), 10 * SECOND),
    ("transactions", "sam", suspicious_bursts.Transaction(2000.0, "Oslo"), 4 * MINUTE),
    ("transactions", "kim", suspicious_bursts.Transaction(9000.0, "Kyiv"), 4 * MINUTE),
    # The same in the next window is not too much; late by less than the grace, it still counts in its own.
    ("transactions", "kim", suspicious_bursts.Transaction(9000.0, "Kyiv"), 5 * MINUTE + 30 * SECOND),
    ("transactions", "kim", suspicious_bursts.Transaction(2000.0, "Lviv"), 4 * MINUTE + 30 * SECOND),
]

ORDER_PIPELINE = [
    ("product-catalog", "p1", order_pipeline.Product("kettle", 20.0), 1),
    ("product-catalog", "p2", order_pipeline.Product("song", 1.0), 1),
    ("orders-raw", "o1", order_pipeline.RawOrder("p1", 2), 2),
    ("orders-raw", "o2", order_pipeline.RawOrder("p2", 3, "digital"), 3),
    ("orders-raw", "o3", order_pipeline.RawOrder("p1", 0), 4),
    ("orders-raw", "o4", order_pipeline.RawOrder("p9", 1), 5),
]

CARD_PAYMENTS = [
    ("logins", "ann", "phone", 0),
    ("payments", "ann", card_payments.Payment("p1", 50.0), 1 * MINUTE),
    ("payments", "ann", card_payments.Payment("p2", 700.0), 2 * MINUTE),
    ("payments", "ann", card_payments.Payment("p1", 50.0), 3 * MINUTE),
    ("payments", "ann", card_payments.Payment("p3", 20.0), 31 * MINUTE),
]

CUSTOM_STORE = [
    *(("prices", "kettle", price, number) for number, price in enumerate([20.0, 22.0, 24.0, 32.0], 1)),
    ("prices", "mug", 5.0, 5),
]

MORE_EXAMPLES: dict[str, tuple[ModuleType, list[tuple[str, str, Any, int]]]] = {
    "custom_store": (custom_store, CUSTOM_STORE),
    "card_payments": (card_payments, CARD_PAYMENTS),
    "high_value_orders": (high_value_orders, HIGH_VALUE_ORDERS),
    "customer_order_counts": (customer_order_counts, CUSTOMER_ORDER_COUNTS),
    "order_enrichment": (order_enrichment, ORDER_ENRICHMENT),
    "four_windows": (four_windows, FOUR_WINDOWS),
    "running_total": (running_total, RUNNING_TOTAL),
    "order_summary": (order_summary, ORDER_SUMMARY),
    "suspicious_bursts": (suspicious_bursts, SUSPICIOUS_BURSTS),
    "order_pipeline": (order_pipeline, ORDER_PIPELINE),
}
