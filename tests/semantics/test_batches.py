"""Batches over stores on disk give what single records over stores in memory give, even if every batch finds the disk
empty and starts from the changelogs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from semantics.batches import BatchHost
from semantics.cases import Case, Step, case_of
from semantics.replay import row_of_record, rows_of_store
from semantics.scenarios import SCENARIOS, config_of, topology_of

from headrace import Record


def _one_topic(name: str) -> bool:
    """Of several topics a batch takes the lowest timestamp first, and not the order in which they were written."""
    read = [sum(len(source.topics) for source in sub.sources) for sub in topology_of(name).sub_topologies()]
    case = case_of(name)
    pipes = all(step.topic is not None for run in case.runs for step in run.steps)
    return max(read) == 1 and len(case.input_topics) == 1 and pipes


NOT_IN_BATCHES = {
    "cache_full": "what a batch has read is forgotten with it, which leaves more room",
    "errors_custom_dead_letters": "two tasks write dead letters, one after the other",
}
ONE_TOPIC = [name for name in SCENARIOS if _one_topic(name) and name not in NOT_IN_BATCHES]


@pytest.mark.parametrize("lose_stores", [False, True], ids=["stores-stay", "stores-lost"])
@pytest.mark.parametrize("name", ONE_TOPIC)
def test_batches_on_disk_equal_single_records_in_memory(name: str, lose_stores: bool, tmp_path: Path) -> None:
    case = case_of(name)
    for run in case.runs[:2]:
        host = BatchHost(topology_of(name), config_of(name), tmp_path / str(run.seed))
        found: dict[str, list[Any]] = {}
        for batch in _batches(case, run.steps, Random(run.seed)):
            for taken in host.run(batch, lose_stores=lose_stores):
                key_serde, value_serde = case.output_topics[taken.topic].serdes()
                records = zip(
                    taken.keys,
                    taken.values,
                    taken.timestamps,
                    taken.headers or [()] * len(taken),
                    strict=True,
                )
                found.setdefault(taken.topic, []).extend(
                    row_of_record(
                        Record(
                            None if key is None else key_serde.deserialize(key),
                            None if value is None else value_serde.deserialize(value),
                            timestamp,
                            headers,
                        ),
                        case.has_headers,
                    )
                    for key, value, timestamp, headers in records
                )
            assert not host.waiting
        expected: dict[str, list[Any]] = {}
        for step in run.steps:
            for topic, rows in step.outputs.items():
                expected.setdefault(topic, []).extend(rows)
        assert found == expected
        for store, kind in case.stores.items():
            assert rows_of_store(host.store(store), kind, run.stores[store]) == run.stores[store]
        kinds = {kind for task in host.tasks for kind in task.kinds}
        usual = {"empty", "rebuilt" if lose_stores else "same"}
        assert kinds == usual if case.stores else kinds <= usual
        host.close()


def _batches(case: Case, steps: Sequence[Step], random: Random) -> Iterator[list[tuple[str, list[Any]]]]:
    ((topic, kinds),) = case.input_topics.items()
    key_serde, value_serde = kinds.serdes()
    while steps:
        # With a cache it matters which records are one commit.
        size = case.commit_every if "cache" in case.scenario else random.randint(1, 15)
        batch, steps = steps[:size], steps[size:]
        yield [
            (
                topic,
                [
                    (
                        None if key is None else key_serde.serialize(key),
                        None if value is None else value_serde.serialize(value),
                        timestamp,
                        step.headers,
                    )
                    for step in batch
                    for key, value, timestamp, *_ in [step.record]
                ],
            )
        ]
