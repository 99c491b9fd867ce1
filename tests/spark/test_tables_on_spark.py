"""Tables with four partitions and in several batches give what the test driver gives: rows, groups and joins."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from headrace.topology.topology import Topology
from tests.spark import table_topologies
from tests.spark.harness import Application, Part, Rec, by_key, flat, partition, reference
from tests.spark.harness.inputs import of_partition, parts

PARTITIONS = 4


def with_tombstones(inputs: list[Part]) -> list[Part]:
    """Every seventh record deletes its row."""
    return [
        {
            topic: [record._replace(value=None) if i % 7 == 3 else record for i, record in enumerate(records)]
            for topic, records in part.items()
        }
        for part in inputs
    ]


@pytest.mark.parametrize(
    ("topology", "inputs"),
    [
        (table_topologies.values(), [*with_tombstones(parts("in")), *parts("in-2")]),
        (table_topologies.groups(), with_tombstones(parts("in"))),
        (table_topologies.joins(), with_tombstones(parts("left", "right", "third", "stream"))),
    ],
    ids=["values", "groups", "joins"],
)
def test_tables_are_what_they_are_in_the_driver(
    topology: Topology, inputs: list[Part], application: Callable[..., Application]
) -> None:
    app = application(topology).run(inputs)
    expected = reference(topology, inputs)
    assert expected.outputs
    for topic, records in expected.outputs.items():
        found = app.read(topic)
        assert by_key(flat(found)) == by_key(records), topic
        for number, written in found.items():
            assert {partition(record.key, PARTITIONS) for record in written} <= {number}
    assert len(app.batches) >= len(inputs)


def test_with_a_record_cache_tables_end_the_same_and_less_is_written(
    application: Callable[..., Application],
) -> None:
    """A flush per commit: the last value per key of each batch."""
    topology, inputs = table_topologies.groups(), with_tombstones(parts("in"))
    app = application(topology, statestore_cache_max_bytes=10_000_000).run(inputs)
    expected = reference(topology, inputs)
    for topic, records in expected.outputs.items():
        written = flat(app.read(topic))
        assert rows(written) == rows(records), topic
        assert len(written) < len(records)


def rows(records: Iterable[Rec]) -> dict[bytes | None, bytes]:
    """What a table holds that is read from a topic. Of a row that came and went in one batch nobody heard."""
    last = {record.key: record.value for record in records}
    return {key: value for key, value in last.items() if value is not None}


def versions(store: Callable[[str], Any], keys: Sequence[str]) -> dict[Any, Any]:
    """What is known of the keys, now and at some times."""
    return {
        (name, key, time): store(name).get(key, time)
        for name in ("prices", "named", "counts")
        for key in keys
        for time in (None, *range(300, 480, 7))
    }


def test_versioned_tables_are_what_they_are_in_the_driver(application: Callable[..., Application]) -> None:
    """Also after a restart that finds no stores on disk, and for questions as of a time."""
    topology = table_topologies.versioned()
    inputs = with_tombstones(parts("prices", "orders", "names", late=80, keys=6))
    app = application(topology)
    app.start()
    app.feed(*inputs[:2])
    app.stop()
    shutil.rmtree(app.config.state_path)
    app.batches.clear()
    streams = app.start()
    app.feed(*inputs[2:])
    assert "rebuilt" in app.recoveries()
    for number in range(PARTITIONS):
        own = of_partition(inputs, number, PARTITIONS)
        keys = sorted({record.key.decode() for part in own for rows in part.values() for record in rows})
        expected = reference(topology, own, ask=lambda driver, keys=keys: versions(driver.store, keys))
        for topic, records in expected.outputs.items():
            assert app.read(topic)[number] == records, f"{topic}, partition {number}"
        assert versions(streams.store, keys) == expected.answer
        assert not keys or any(expected.answer.values())
    app.stop()
