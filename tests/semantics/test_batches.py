"""Batches over stores on disk give what single records over stores in memory give, even if every batch finds the disk
empty and starts from the changelogs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from semantics.batches import BatchHost
from semantics.replay import case_of, record_of, rows_of_store, serde_of
from semantics.scenarios import SCENARIOS

# Of several topics a batch takes the lowest timestamp first, and not the order in which the case piped them.
ONE_TOPIC = [
    name
    for name in SCENARIOS
    if len(case_of(name)["input_topics"]) == 1
    and all(step["op"] == "pipe" for run in case_of(name)["runs"] for step in run["steps"])
]


@pytest.mark.parametrize("lose_stores", [False, True], ids=["stores-stay", "stores-lost"])
@pytest.mark.parametrize("name", ONE_TOPIC)
def test_batches_on_disk_equal_single_records_in_memory(name: str, lose_stores: bool, tmp_path: Path) -> None:
    case = case_of(name)
    for run in case["runs"][:2]:
        host = BatchHost(name, tmp_path / str(run["seed"]))
        found: dict[str, list[Any]] = {}
        for batch in _batches(case, run["steps"], Random(run["seed"])):
            for taken in host.run(batch, lose_stores=lose_stores):
                kinds = case["output_topics"][taken.topic]
                serdes = serde_of(kinds["key"], kinds), serde_of(kinds["value"], kinds)
                records = zip(
                    taken.keys,
                    taken.values,
                    taken.timestamps,
                    taken.headers or [()] * len(taken),
                    strict=True,
                )
                found.setdefault(taken.topic, []).extend(
                    record_of(*record, *serdes, case["has_headers"]) for record in records
                )
        expected: dict[str, list[Any]] = {}
        for outputs in run["outputs"]:
            for topic, records in outputs.items():
                expected.setdefault(topic, []).extend(records)
        assert found == expected
        for store, kind in case["stores"].items():
            assert rows_of_store(host.store(store), kind) == run["stores"][store]
        kinds = {kind for task in host.tasks for kind in task.kinds}
        usual = {"empty", "rebuilt" if lose_stores else "same"}
        assert kinds == usual if case["stores"] else kinds <= usual
        host.close()


def _batches(
    case: dict[str, Any], steps: list[dict[str, Any]], random: Random
) -> Iterator[list[tuple[str, list[Any]]]]:
    (topic, kinds) = next(iter(case["input_topics"].items()))
    write_key = serde_of(kinds["key"], kinds).serialize
    write_value = serde_of(kinds["value"], kinds).serialize
    while steps:
        size = random.randint(1, 15)
        batch, steps = steps[:size], steps[size:]
        yield [
            (
                topic,
                [
                    (
                        None if step["key"] is None else write_key(step["key"]),
                        None if step["value"] is None else write_value(step["value"]),
                        step["timestamp"],
                        tuple((name, text.encode()) for name, text in step.get("headers", ())),
                    )
                    for step in batch
                ],
            )
        ]
