"""An order pipeline behind an outbox: validate, enrich from the catalogue, and route by the kind of order.

A service writes an order and its outbox row in one transaction of its database; change capture puts the row into
`orders-raw`. From there on everything is exactly once: what is refused goes to a topic with the reason, the rest to the
topic of its kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headrace import RecordMetadata, StreamsBuilder

Kind = Literal["physical", "digital"]


@dataclass
class Product:
    """Its key is the product's id."""

    title: str
    price: float


@dataclass
class RawOrder:
    """A row of the outbox. Its key is the order's id."""

    product_id: str
    pieces: int
    kind: Kind = "physical"


@dataclass
class ProcessedOrder:
    title: str
    pieces: int
    total: float
    kind: Kind


@dataclass
class RefusedOrder:
    order: RawOrder
    reason: str


def enrich(order: RawOrder, product: Product) -> ProcessedOrder:
    return ProcessedOrder(product.title, order.pieces, order.pieces * product.price, order.kind)


def refuse(order: RawOrder) -> RefusedOrder:
    return RefusedOrder(order, f"{order.pieces} pieces")


def topic_of_kind(order_id: str, order: ProcessedOrder, metadata: RecordMetadata) -> str:
    return f"processed-orders-{order.kind}"


builder = StreamsBuilder()
products = builder.global_table("product-catalog", value=Product, store="product-store")
branches = (
    builder.stream("orders-raw", value=RawOrder)
    .split(name="order-")
    .branch(lambda _, order: order.pieces > 0, name="valid")
    .default_branch(name="invalid")
)
(
    branches["order-valid"]
    # An order of something that is not in the catalogue waits for nobody: an inner join drops it.
    .join(products, on=lambda _, order: order.product_id, join=enrich, name="enrich")
    .to(topic_of_kind, value=ProcessedOrder)
)
branches["order-invalid"].map_values(refuse).to("orders-refused", value=RefusedOrder)
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    with Streams(topology, application_id="order-pipeline") as streams:
        streams.wait()
