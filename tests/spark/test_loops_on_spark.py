"""Where the way of a record leads back to an earlier stage: through a topic of the log into the next batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from headrace.log.base import TopicPartition
from headrace.topology.topology import Topology
from tests.spark import loop_topologies
from tests.spark.harness import Application, Part, by_key, flat, partition, reference
from tests.spark.harness.inputs import parts
from tests.spark.harness.records import Rec
from tests.spark.test_tables_on_spark import with_tombstones

PARTITIONS = 4

FOREIGN_KEYS = [
    (loop_topologies.inner(), with_tombstones(parts("left", "right", size=80))),
    (loop_topologies.chain(), with_tombstones(parts("left", "right", "third", size=90))),
    (loop_topologies.self_join(), with_tombstones(parts("in"))),
    (loop_topologies.rekeyed(), parts("left", "right")),
]


def rows(records: Iterable[Rec]) -> dict[bytes | None, bytes]:
    """The table that a topic's records make."""
    last = {record.key: record.value for record in records}
    return {key: value for key, value in last.items() if value is not None and any(value)}


@pytest.mark.parametrize(
    ("topology", "inputs"), FOREIGN_KEYS, ids=["inner-and-left", "chain", "self", "rekeyed"]
)
@pytest.mark.parametrize("limit", [100_000, 24], ids=["whole-batches", "small-batches"])
def test_foreign_key_joins_end_with_the_rows_of_the_driver(
    topology: Topology,
    inputs: list[Part],
    limit: int,
    application: Callable[..., Application],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also over a restart, when a batch may take only a few records, and what was read is deleted at once."""
    monkeypatch.setattr("headrace.app.purging.EVERY", 0.0)
    app = application(topology, max_batch_records=limit, topics={"left": 3, "right": 2})
    app.run(inputs[:2]).run(inputs[2:])
    expected = reference(topology, inputs)
    assert len(expected.outputs) >= 2
    internal = [topic for topic in app.log.topics() if topic.endswith("-topic")]
    places = [TopicPartition(topic, p) for topic in internal for p in range(app.log.topics()[topic])]
    assert app.log.earliest(places) == app.log.latest(places)
    assert any(app.log.latest(places).values())
    for topic, records in expected.outputs.items():
        found = app.read(topic)
        assert rows(flat(found)) == rows(records), topic
        assert rows(records)
        for number, written in found.items():
            assert {partition(record.key, PARTITIONS) for record in written} <= {number}


def test_a_table_that_is_met_again_downstream(application: Callable[..., Application]) -> None:
    """Its sub-topology writes to one behind it, which writes back."""
    topology = loop_topologies.same_table_twice()
    inputs = [*parts("table", count=1), *parts("stream", seed=2)]
    app = application(topology).run(inputs)
    expected = reference(topology, inputs)
    for topic, records in expected.outputs.items():
        assert by_key(flat(app.read(topic))) == by_key(records), topic
    assert expected.outputs["again"]


@pytest.mark.parametrize(
    ("topology", "loose"),
    [
        (loop_topologies.own_topic(), set[str]()),
        (loop_topologies.one_store_at_two_depths(), set[str]()),
        (loop_topologies.counts_of_itself(), {"joined"}),
    ],
    ids=["own-topic", "one-store", "itself"],
)
def test_what_an_application_sends_to_itself_is_waited_for(
    topology: Topology, loose: set[str], application: Callable[..., Application]
) -> None:
    """`loose` topics depend on when a record comes back, in Kafka Streams too: only their number is certain."""
    inputs = parts("in")
    app = application(topology, topics={"more-counts": PARTITIONS}).run(inputs)
    expected = reference(topology, inputs)
    assert len(expected.outputs) >= 1
    for topic, records in expected.outputs.items():
        found = flat(app.read(topic))
        if topic in loose:
            assert len(found) == len(records)
        else:
            assert rows(found) == rows(records), topic
