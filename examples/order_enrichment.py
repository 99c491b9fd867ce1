"""Orders, joined three ways: with a table, with a table that every task has whole, and with another stream.

- By the customer, who is in a *table*: both sides must be partitioned alike, so the orders are re-keyed first.
- By the product, which is in a *global table*: any key of the order's value will do, nothing is re-keyed.
- By the payment, which is a *stream*: it must come within 30 seconds of the order, before or after.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headrace import JoinWindows, StreamsBuilder


@dataclass
class Order:
    """Its key is the order's id."""

    order_id: str
    customer_id: str
    product_id: str
    total_amount: float


@dataclass
class Customer:
    """Its key is the customer's id."""

    name: str
    segment: str


@dataclass
class Product:
    """Its key is the product's id."""

    title: str
    price: float


@dataclass
class Payment:
    """Money that came in. Its key is the order's id."""

    cents: int


@dataclass
class CustomersOrder:
    order_id: str
    customer: str
    segment: str
    total_amount: float


@dataclass
class OrderedProduct:
    order_id: str
    title: str | None
    pieces: float


@dataclass
class PaidOrder:
    order_id: str
    cents: int
    in_full: bool


def with_customer(order: Order, customer: Customer) -> CustomersOrder:
    return CustomersOrder(order.order_id, customer.name, customer.segment, order.total_amount)


def with_product(order: Order, product: Product | None) -> OrderedProduct:
    if product is None:  # a left join: the catalogue does not know it
        return OrderedProduct(order.order_id, None, 0)
    return OrderedProduct(order.order_id, product.title, order.total_amount / product.price)


def with_payment(order: Order, payment: Payment) -> PaidOrder:
    return PaidOrder(order.order_id, payment.cents, payment.cents >= 100 * order.total_amount)


builder = StreamsBuilder()
orders = builder.stream("orders", value=Order)
customers = builder.table("customers", value=Customer)
products = builder.global_table("product-catalog", value=Product, store="products")
payments = builder.stream("payments", value=Payment)

(
    orders.select_key(lambda _, order: order.customer_id)
    .join(customers, join=with_customer, name="with-customer")
    .to("orders-with-customers", value=CustomersOrder)
)
(
    orders.left_join(products, on=lambda _, order: order.product_id, join=with_product).to(
        "orders-with-products", value=OrderedProduct
    )
)
(
    orders.join(
        payments, windows=JoinWindows(timedelta(seconds=30)), join=with_payment, name="with-payment"
    ).to("paid-orders", value=PaidOrder)
)
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    with Streams(topology, application_id="order-enrichment") as streams:
        streams.wait()
