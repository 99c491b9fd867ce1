"""The recorded inputs of a scenario, cut into batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from semantics.cases import Case, Run

from headrace.partitioning import partition_for
from tests.spark.harness import Rec


@dataclass(slots=True)
class Batch:
    """Records that become visible at once, by topic and partition, at a wall-clock time. Without records: only the
    clock has moved.
    """

    clock: int
    records: dict[str, dict[int, list[Rec]]] = field(default_factory=dict)

    def add(self, topic: str, record: Rec, partition: int) -> None:
        self.records.setdefault(topic, {}).setdefault(partition, []).append(record)


def batches(case: Case, run: Run, partitions: int, *, several: bool) -> Iterator[Batch]:
    """All steps of a run. One batch holds what lies between two moves of the clock, or less with `several`."""
    random = Random(run.seed)
    batch = Batch(0)
    left = _size(random, several)
    for number, step in enumerate(run.steps):
        if step.topic is None:
            if batch.records:
                yield batch
            batch = Batch(batch.clock + step.advance)
            yield batch
            batch = Batch(batch.clock)
            continue
        key_serde, value_serde = case.input_topics[step.topic].serdes()
        key, value, timestamp, *_ = step.record
        raw_key = None if key is None else key_serde.serialize(key)
        record = Rec(
            raw_key, None if value is None else value_serde.serialize(value), timestamp, step.headers
        )
        place = number % partitions if raw_key is None else partition_for(raw_key, partitions)
        batch.add(step.topic, record, place)
        left -= 1
        if not left:
            yield batch
            batch, left = Batch(batch.clock), _size(random, several)
    if batch.records:
        yield batch


def _size(random: Random, several: bool) -> int:
    return random.randint(5, 25) if several else -1
