"""Whether what `counting_app` wrote is what the test driver writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from headrace.app import Streams
from headrace.app.reading import StoreReaders
from headrace.log import TopicLog, TopicPartition
from headrace.serdes import serde_for
from tests.chaos.counting_app import Totals, topology
from tests.chaos.drivers import TIMEOUT
from tests.spark.harness import Part, Rec, Reference, by_key, flat, reference
from tests.spark.harness.inputs import of_partition, parts

PARTITIONS = 4
TOPICS = ("in", "counts", "sessions", "totals")


def some_parts(count: int, seed: int = 1) -> list[Part]:
    """Records with some late ones; of today, because the broker deletes what is older than changelogs keep."""
    made = parts("in", count=count, size=60, seed=seed, keys=20, late=120)
    now = time.time_ns() // 1_000_000
    return [{"in": [r._replace(timestamp=now + r.timestamp) for r in part["in"]]} for part in made]


def check_output(read: Callable[[str], dict[int, list[Rec]]], inputs: Sequence[Part]) -> None:
    """Every record once, and in the order of its partition. `read` gives a topic's records by partition."""
    counts, sessions = read("counts"), read("sessions")
    for number, expected in enumerate(_by_partition(inputs)):
        assert counts[number] == expected.outputs.get("counts", []), f"partition {number}"
        assert sessions[number] == expected.outputs.get("sessions", []), f"partition {number}"
    # The order between partitions is that of time inside a batch, and where batches end depends on the kills
    # (Kafka, besides, shows no two partitions at the same moment); but each of a letter's records counts one,
    # and together they count all.
    totals, decode = by_key(flat(read("totals"))), serde_for(Totals).deserialize
    everything = by_key(reference(topology, inputs).outputs["totals"])
    assert totals.keys() == everything.keys()
    for key, records in totals.items():
        found = [decode(record.value or b"") for record in records]
        assert [each.count for each in found] == list(range(1, len(everything[key]) + 1))
        assert found[-1] == decode(everything[key][-1].value or b"")


def check_stores(streams: Streams | StoreReaders, inputs: Sequence[Part]) -> None:
    """The stores of an application hold what they hold in the test driver."""
    partitions = _by_partition(inputs)
    for store in ("counts", "sessions"):
        expected = [row for partition in partitions for row in partition.stores[store]]
        assert _sorted(streams.store(store).all()) == _sorted(expected)
    whole = reference(topology, inputs, stores=["totals"])
    assert _sorted(streams.store("totals").all()) == _sorted(whole.stores["totals"])


def wait_until_committed(log: TopicLog, application_id: str) -> None:
    """Until all of the topic `in` is read, as the log says."""
    places = [TopicPartition("in", number) for number in range(log.topics()["in"])]
    deadline = time.monotonic() + TIMEOUT
    while log.positions(application_id) != log.latest(places):
        assert time.monotonic() < deadline, f"committed is {log.positions(application_id)}"
        time.sleep(0.05)


def _by_partition(inputs: Sequence[Part]) -> list[Reference]:
    """Each partition has a time of its own, and so a test driver."""
    return [
        reference(topology, of_partition(inputs, number, PARTITIONS), stores=["counts", "sessions"])
        for number in range(PARTITIONS)
    ]


def _sorted(rows: Any) -> list[Any]:
    return sorted(rows, key=repr)
