"""A state store written by hand: the last three prices of each product, in memory, and their average for each new one.

The store keeps a map. `flush` writes what has changed to its rows, which are its changelog; `restore` makes the map
from them again: after a restart, on another host, and after a batch that failed.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator

from headrace import Processor, ProcessorContext, Record, StateStore, StreamsBuilder, custom_store


class RecentPrices(StateStore):
    """Three prices per product."""

    def __init__(self) -> None:
        self.prices: dict[str, deque[float]] = {}
        self.changed: set[str] = set()

    def restore(self, rows: Iterator[tuple[bytes, bytes]]) -> None:
        self.prices = {key.decode(): deque(json.loads(value), maxlen=3) for key, value in rows}

    def put(self, product: str, price: float) -> None:
        self.prices.setdefault(product, deque(maxlen=3)).append(price)
        self.changed.add(product)

    def average(self, product: str) -> float:
        found = self.prices[product]
        return sum(found) / len(found)

    def flush(self) -> None:
        for product in sorted(self.changed):
            self.rows.put(product.encode(), json.dumps(list(self.prices[product])).encode())
        self.changed.clear()


class Average(Processor[str, float, str, float]):
    """Puts each price into the store, and sends the average on."""

    def init(self, context: ProcessorContext[str, float]) -> None:
        super().init(context)
        self.prices: RecentPrices = context.get_state_store("recent-prices")

    def process(self, record: Record[str, float]) -> None:
        self.prices.put(record.key, record.value)
        self.context.forward(record.with_value(self.prices.average(record.key)))


builder = StreamsBuilder()
builder.add_state_store(custom_store("recent-prices", RecentPrices))
(
    builder.stream("prices", value=float)
    .process(Average, stores=["recent-prices"], name="average")
    .to("average-prices", value=float)
)
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    with Streams(topology, application_id="recent-prices") as streams:
        streams.wait()
