"""Foreign-key joins in batches: answers come back a batch later, so there are fewer results on the way and their times
differ, but the tables end with the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from semantics.batches import BatchHost
from semantics.cases import Case, Step, case_of
from semantics.replay import rows_of_store
from semantics.scenarios import config_of, topology_of
from semantics.scenarios.foreign_keys import SCENARIOS

NOT_A_TABLE = {"looked-up"}
"""A stream that looks into a table sees it as it is at the time."""


@pytest.mark.parametrize("lose_stores", [False, True], ids=["stores-stay", "stores-lost"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_tables_end_with_the_same_rows(name: str, lose_stores: bool, tmp_path: Path) -> None:
    case = case_of(name)
    for run in case.runs:
        host = BatchHost(topology_of(name), config_of(name), tmp_path / str(run.seed))
        found: dict[str, dict[str, Any]] = {topic: {} for topic in case.output_topics}
        for batch in _batches(case, run.steps, Random(run.seed), host):
            for taken in host.run(batch, lose_stores=lose_stores):
                key_serde, value_serde = case.output_topics[taken.topic].serdes()
                for key, value in zip(taken.keys, taken.values, strict=True):
                    row = None if value is None else value_serde.deserialize(value)
                    found[taken.topic][key_serde.deserialize(key or b"")] = row
        expected: dict[str, dict[str, Any]] = {topic: {} for topic in case.output_topics}
        for step in run.steps:
            for topic, records in step.outputs.items():
                expected[topic].update((key, value) for key, value, *_ in records)
        for topic in case.output_topics.keys() - NOT_A_TABLE:
            assert _rows(found[topic]) == _rows(expected[topic]), f"seed {run.seed}, `{topic}`"
        for store, kind in case.stores.items():
            kept = rows_of_store(host.store(store), kind, run.stores[store])
            rows = {key: value for key, value, *_ in kept}
            assert _rows(rows) == _rows({key: value for key, value, *_ in run.stores[store]})
        assert any("subscription" in topic.lower() for topic in host.offsets)
        host.close()


def _rows(last: dict[str, Any]) -> dict[str, Any]:
    """Whether a row that is not there was ever deleted, or a group ever had rows, depends on the batches."""
    return {key: value for key, value in last.items() if value}


def _batches(
    case: Case, steps: Sequence[Step], random: Random, host: BatchHost
) -> Iterator[list[tuple[str, list[Any]]]]:
    """The steps in batches of any size, and then as many without input as it takes until nothing waits."""
    while steps:
        size = random.randint(1, 15)
        batch: dict[str, list[Any]] = {}
        for step in steps[:size]:
            assert step.topic is not None
            key, value, timestamp, *_ = step.record
            key_serde, value_serde = case.input_topics[step.topic].serdes()
            raw_key = None if key is None else key_serde.serialize(key)
            raw_value = None if value is None else value_serde.serialize(value)
            batch.setdefault(step.topic, []).append((raw_key, raw_value, timestamp, ()))
        steps = steps[size:]
        yield list(batch.items())
    while host.waiting:
        yield []
