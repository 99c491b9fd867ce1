"""Every recorded run of the real Kafka Streams, record by record: key, value, timestamp, headers, and the stores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from semantics.cases import CASES, case_of
from semantics.replay import Counts, replay
from semantics.scenarios import SCENARIOS, topology_of

NOT_YET = {}
"""Recorded, but what they need is not built yet."""


@pytest.fixture(scope="module")
def counts() -> Iterator[Counts]:
    """Counted over all cases, and printed at the end."""
    counted = Counts()
    yield counted
    print(
        f"\n{len(SCENARIOS)} topologies: {counted.runs} runs, {counted.steps} steps; as in Kafka Streams: "
        f"{counted.records} records, {counted.rows} store rows, {counted.texts} describe() texts; "
        f"{len(NOT_YET)} topologies not yet"
    )


def test_every_case_is_covered_or_known_to_be_missing() -> None:
    recorded = {path.stem for path in CASES.glob("*.json")}
    assert recorded == {*SCENARIOS, *NOT_YET}
    assert not SCENARIOS.keys() & NOT_YET.keys()


@pytest.mark.parametrize("name", SCENARIOS)
def test_outputs_and_stores_equal_those_of_kafka_streams(name: str, counts: Counts) -> None:
    replay(name, counts)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_description_equals_that_of_kafka_streams(name: str, counts: Counts) -> None:
    assert str(topology_of(name).describe()) == case_of(name).describe
    counts.texts += 1
