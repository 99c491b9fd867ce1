"""Every recorded run of the real Kafka Streams, record by record: key, value, timestamp, headers, and the stores."""

from __future__ import annotations

import pytest
from semantics.cases import CASES, case_of
from semantics.replay import Counts, replay
from semantics.scenarios import SCENARIOS, topology_of


def test_every_case_is_covered() -> None:
    assert {path.stem for path in CASES.glob("*.json")} == SCENARIOS.keys()


@pytest.mark.parametrize("name", SCENARIOS)
def test_outputs_and_stores_equal_those_of_kafka_streams(name: str, counts: Counts) -> None:
    replay(name, counts)
    counts.topologies += 1


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_description_equals_that_of_kafka_streams(name: str, counts: Counts) -> None:
    assert str(topology_of(name).describe()) == case_of(name).describe
    counts.texts += 1
