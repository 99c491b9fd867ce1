"""What leads back to an earlier stage, on Kafka: the next batch reads all of it, although a broker needs a moment to
show what was just committed.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.log.base import TopicPartition
from tests.spark import loop_topologies
from tests.spark.harness import Application, flat, reference
from tests.spark.harness.inputs import parts
from tests.spark.test_loops_on_spark import rows
from tests.spark.test_tables_on_spark import with_tombstones


def test_foreign_key_joins_end_with_the_rows_of_the_driver(
    application: Callable[..., Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.app.purging.EVERY", 0.0)
    topology, inputs = loop_topologies.inner(), with_tombstones(parts("left", "right", size=80))
    app = application(topology, topics={"left": 3, "right": 2}, max_batch_records=30)
    app.run(inputs[:2]).run(inputs[2:])
    for topic, records in reference(topology, inputs).outputs.items():
        assert rows(flat(app.read(topic))) == rows(records), topic
    prefix = f"{app.config.application_id}-"
    looped = [
        topic for topic in app.log.topics() if topic.startswith(prefix) and topic.endswith("-response-topic")
    ]
    assert f"{prefix}named-subscription-response-topic" in looped
    places = [TopicPartition(topic, p) for topic in looped for p in range(3)]
    # What follows the last record that can be read is a mark of its transaction.
    assert not list(app.log.read({p: (app.log.earliest([p])[p], app.log.latest([p])[p]) for p in places}))
    assert any(app.log.latest(places).values())
