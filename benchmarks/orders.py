"""The input: orders, written to a log all at once (to be caught up with) or at a steady rate (for latency).

Order i is the same in every run (a fixed seed), but for its `ts`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.log import LogConfig, TopicLog, open_log
from headrace.log.base import Outgoing

CUSTOMERS = 50_000
BLOCK = 50_000


class Order(NamedTuple):
    order_id: str
    customer: str
    value: bytes
    ts: int


def order(i: int, rng: random.Random, ts: int, *, distinct: bool = False) -> Order:
    """Order number i. With `distinct`, customer i gives it, and pays."""
    order_id = f"o{i:06d}"
    customer = f"c{i if distinct else rng.randrange(CUSTOMERS):05d}"
    body = {
        "order_id": order_id,
        "customer": customer,
        "amount": rng.randrange(100, 10000) / 100,
        "status": "cancelled" if i % 10 == 9 and not distinct else "paid",
        "ts": ts,
    }
    return Order(order_id, customer, json.dumps(body).encode(), ts)


def orders(count: int, *, distinct: bool = False) -> Iterator[list[Order]]:
    """All orders, in blocks. Time begins an hour ago and advances one millisecond every four of them."""
    rng = random.Random(7)
    base = int(time.time()) // 60 * 60_000 - 3_600_000
    for start in range(0, count, BLOCK):
        yield [
            order(i, rng, base + i // 4, distinct=distinct) for i in range(start, min(count, start + BLOCK))
        ]


# --- topics ---------------------------------------------------------------------------------------------------------


def create_topics(bootstrap: str, names: Sequence[str], partitions: int = 4) -> None:
    """Topics on Kafka that keep everything; those that are there already stay."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic(name, partitions, 1, config={"retention.ms": "-1"}) for name in names]
    for future in admin.create_topics(topics).values():
        try:
            future.result(30)
            time.sleep(0.5)  # until its partitions have leaders
        except Exception as error:
            if "already exists" not in str(error):
                raise


class KafkaFiller:
    """Writes blocks of orders to a topic on Kafka."""

    def __init__(self, bootstrap: str, topic: str, *, by_customer: bool = False) -> None:
        self.topic = topic
        self.by_customer = by_customer
        settings = {"linger.ms": 20, "partitioner": "murmur2_random", "queue.buffering.max.messages": 500_000}
        self.producer = Producer({"bootstrap.servers": bootstrap, **settings})

    def write(self, block: Sequence[Order]) -> None:
        for one in block:
            key = one.customer if self.by_customer else one.order_id
            while True:
                try:
                    self.producer.produce(self.topic, one.value, key, timestamp=one.ts)
                    break
                except BufferError:
                    self.producer.poll(0.05)
        self.producer.poll(0)

    def finish(self) -> None:
        if self.producer.flush(60):
            raise RuntimeError(f"Kafka did not confirm all of `{self.topic}`")


class EmbeddedFiller:
    """Writes blocks of orders to a topic of the embedded log."""

    def __init__(self, log: TopicLog, topic: str, *, by_customer: bool = False) -> None:
        self.log = log
        self.topic = topic
        self.by_customer = by_customer

    def write(self, block: Sequence[Order]) -> None:
        keys = [(one.customer if self.by_customer else one.order_id).encode() for one in block]
        values, times = [one.value for one in block], [one.ts for one in block]
        self.log.append([Outgoing(self.topic, keys, values, times)])

    def finish(self) -> None:
        pass


# --- a steady rate --------------------------------------------------------------------------------------------------


def steady(rate: float, seconds: float, send: Callable[[list[Order]], None]) -> float:
    """Send what is due, as it becomes due; `ts` is the wall clock. Returns how late it was at worst, in seconds."""
    rng = random.Random(7)
    start = time.time()
    total, sent, late = int(rate * seconds), 0, 0.0
    while sent < total:
        wait = start + sent / rate - time.time()
        if wait > 0:
            time.sleep(wait)
        late = max(late, -wait)
        now = time.time()
        due = min(total, int((now - start) * rate) + 1)
        send([order(i, rng, int(now * 1000)) for i in range(sent, max(due, sent + 1))])
        sent = max(due, sent + 1)
    return late


def main() -> None:
    parser = argparse.ArgumentParser(description="Orders at a steady rate.")
    parser.add_argument("--bootstrap")
    parser.add_argument("--log", help="the embedded log's folder")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    args = parser.parse_args()
    if args.bootstrap:
        producer = Producer(
            {"bootstrap.servers": args.bootstrap, "linger.ms": 0, "partitioner": "murmur2_random"}
        )

        def send(block: list[Order]) -> None:
            for one in block:
                producer.produce(args.topic, one.value, one.order_id, timestamp=one.ts)
            producer.poll(0)

        late = steady(args.rate, args.seconds, send)
        producer.flush()
    else:
        log = open_log(LogConfig(directory=args.log))
        late = steady(args.rate, args.seconds, EmbeddedFiller(log, args.topic).write)
    print(f"worst lateness of the generator: {late * 1000:.0f} ms", file=sys.stderr)


if __name__ == "__main__":
    main()
