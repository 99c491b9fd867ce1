"""With a record cache every case gives what it gave without, where the real Kafka Streams says that it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from semantics.cases import case_of
from semantics.replay import Counts, replay_case, row_of_record
from semantics.scenarios import SCENARIOS, config_of, topology_of

from headrace.testing import TopologyTestDriver


@pytest.mark.parametrize("name", [name for name in SCENARIOS if case_of(name).same_when_cached[0]])
def test_a_cache_that_is_flushed_after_each_record_changes_nothing(name: str) -> None:
    config = replace(config_of(name), statestore_cache_max_bytes=10 * 1024 * 1024)
    case = case_of(name)
    replay_case(case, lambda: topology_of(name), config, Counts(), stores=case.same_when_cached[1])


def test_windows_that_are_evicted_while_they_are_read_miss_nothing() -> None:
    """ADR 0007: in Kafka Streams a full cache makes sliding windows forget records."""
    name = "sliding_count_early"
    config, case = replace(config_of(name), statestore_cache_max_bytes=1200), case_of(name)
    for run in case.runs:
        with TopologyTestDriver(topology_of(name), config, initial_wall_clock_time=0) as driver:
            source, counts = (
                driver.input("in", str, str),
                driver.output("out", *case.output_topics["out"].serdes()),
            )
            for first in range(0, len(run.steps), 7):
                with driver.one_commit():
                    for step in run.steps[first : first + 7]:
                        key, value, timestamp, *_ = step.record
                        source.pipe(key, value, timestamp=timestamp, headers=step.headers)
            found = _last([row_of_record(record, False) for record in counts.read_records()])
        assert found == _last([row for step in run.steps for row in step.outputs.get("out", [])])


def _last(rows: list[list[Any]]) -> dict[tuple[Any, ...], list[Any]]:
    """The last value and time of each window."""
    return {tuple(row[0]): row[1:3] for row in rows}
