"""Where the time of a transaction on Kafka goes, in the driver: the whole as an application does it, and its parts.

The parts are timed by themselves, as in `costs`; librdkafka's own threads work meanwhile, so they share the cores.
"""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Producer

from benchmarks import machine
from benchmarks.costs import shown
from benchmarks.orders import create_topics
from benchmarks.probes import PARTITIONS
from benchmarks.setting import Setting
from headrace.log import LogConfig, open_log
from headrace.log.arrow import ArrowOutgoing, to_batch
from headrace.log.base import Outgoing, Publication, TopicPartition
from headrace.log.kafka import settings
from headrace.partitioning import partitions_for

RECORDS, OUTPUTS, KEYS = 250_000, 225_000, 50_000
"""Of one W1 batch: its input, what it writes, and the keys that change."""
PACKED = 14_000
"""About how many records a row of the driver's holds."""
VALUE = b'{"n":12,"total":1234.56,"ts":1700000000000}'


def publish(setting: Setting) -> dict[str, Any]:
    """One W1 transaction on Kafka, per input record."""
    setting.say("one transaction on Kafka, and its parts")
    load = machine.load()
    config = LogConfig(bootstrap_servers=setting.bootstrap)
    create_topics(setting.bootstrap, ["costs-out", "costs-changelog", "costs-parts"])
    log = open_log(config)
    publisher = log.publisher("costs")
    positions = {TopicPartition("costs-out", 0): 1}
    try:
        empty = min(_published(publisher, Publication([], [], positions, lambda _: b"{}")) for _ in range(3))
        whole = min(
            _published(publisher, Publication(outputs(), changelogs(), positions, lambda _: b"{}"))
            for _ in range(3)
        )
        producer = Producer(settings.producer(config))
        parts = min((_parts(producer) for _ in range(3)), key=lambda parts: sum(part for _, part in parts))
    finally:
        publisher.close()
        log.close()
        setting.drop_topics("costs")
    phases = [("**publish**", whole), *shown([*parts, ("an empty transaction", empty)], whole)]
    title = "Where the time of a transaction on Kafka goes (W1, in the driver, per input record)"
    return {"title": title, "records": RECORDS, "phases": phases, "load": load}


def outputs() -> list[Outgoing]:
    keys = [b"c%05d" % (i * 7919 % KEYS) for i in range(OUTPUTS)]
    parts = [keys[at : at + PACKED] for at in range(0, OUTPUTS, PACKED)]
    return [_outgoing("costs-out", part, None) for part in parts]


def changelogs() -> list[Outgoing]:
    keys = [b"c%05d" % i for i in range(KEYS)]
    return [_outgoing("costs-changelog", keys[p::PARTITIONS], p) for p in range(PARTITIONS)]


def _outgoing(topic: str, keys: list[bytes], partition: int | None) -> Outgoing:
    batch = to_batch(keys, [VALUE] * len(keys), [1_700_000_000_000] * len(keys))
    return ArrowOutgoing(topic, batch, partition)


def _published(publisher: Any, publication: Publication) -> float:
    started = time.perf_counter()
    publisher.publish(publication)
    return time.perf_counter() - started


def _parts(producer: Producer) -> list[tuple[str, float]]:
    """What has to be done in any case, with a producer of the same settings."""
    records = [*outputs(), *changelogs()]
    started = time.perf_counter()
    columns = [(outgoing.keys, outgoing.values, outgoing.timestamps) for outgoing in records]
    listed = time.perf_counter()
    partitions = [partitions_for(keys, PARTITIONS).tolist() for keys, _, _ in columns]
    hashed = time.perf_counter()
    produce = producer.produce
    for (keys, values, times), places in zip(columns, partitions, strict=True):
        for key, value, timestamp, place in zip(keys, values, times, places, strict=True):
            produce("costs-parts", value, key, place, None, None, timestamp)
    handed = time.perf_counter()
    producer.flush(60)
    return [
        ("bytes out of Arrow", listed - started),
        ("partitions", hashed - listed),
        ("hand to librdkafka", handed - hashed),
        ("wait until the broker has them", time.perf_counter() - handed),
    ]
