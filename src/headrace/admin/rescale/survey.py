"""A look at all rows before anything is done: how many there are, and whether each key is in one task only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from headrace.admin.rescale.placing import Moved
from headrace.admin.stopped import Stopped
from headrace.errors import RescaleError
from headrace.log.base import Chunk
from headrace.partitioning import partitions_for
from headrace.record import TaskId
from headrace.spark.changelogs import TaskChangelogs
from headrace.spark.commit import CommitRecord
from headrace.spark.layout import Layout
from headrace.state.stamps import TASK_STORE

Seen = Callable[[int], None]
"""Called with the number of records that were read."""


class Rows(NamedTuple):
    """Records of a changelog, those without a key left out."""

    keys: Sequence[bytes]
    values: Sequence[bytes | None]
    timestamps: Sequence[int]


class OldRows:
    """The rows that a stopped application has in its changelogs, task by task, as far as its last commit says."""

    def __init__(self, app: Stopped, layout: Layout, commit: CommitRecord) -> None:
        self._app = app
        self._layout = layout
        self._commit = commit

    def of(self, moved: Moved, task: int) -> Iterator[Rows]:
        """The records of one store in one task."""
        for chunk in self._chunks(moved.placement.sub.id, task, moved.spec.name):
            if None not in chunk.keys:
                yield Rows(cast("Sequence[bytes]", chunk.keys), chunk.values, chunk.timestamps)
                continue
            rows = zip(chunk.keys, chunk.values, chunk.timestamps, strict=True)
            kept = [(key, value, time) for key, value, time in rows if key is not None]
            if kept:
                keys, values, times = zip(*kept, strict=True)
                yield Rows(keys, values, times)

    def memory(self, sub: int, task: int) -> tuple[bytes | None, int]:
        """What a task remembers, and when it was written."""
        found: tuple[bytes | None, int] = (None, 0)
        for chunk in self._chunks(sub, task, TASK_STORE):
            if len(chunk):
                found = (chunk.values[-1], chunk.timestamps[-1])
        return found

    def _chunks(self, sub: int, task: int, store: str) -> Iterator[Chunk]:
        placement = self._layout.by_sub(sub)
        changelogs = TaskChangelogs(self._layout, placement, TaskId(sub, task), self._app.config)
        end = changelogs.accepted(self._commit).ends[store]
        read: Any = changelogs.reading(lambda: self._app.log)
        yield from read(store, 0, end)


@dataclass(slots=True)
class Counted:
    """What was found in a store."""

    moved: Moved
    records: int = 0
    keys: int = 0
    size: int = 0
    """In bytes, keys included."""
    hashed: bool = True
    """Whether each row was in the task that the hash of its key says."""
    elsewhere: dict[bytes, int] = field(default_factory=dict)
    """Keys that were in another task than their hash says, and in which."""


def survey(rows: OldRows, moved: Sequence[Moved], seen: Seen = lambda count: None) -> list[Counted]:
    """Count everything; RescaleError when rows of one key are in several tasks."""
    found = [_count(rows, each, seen) for each in moved]
    for counted in found:
        if counted.elsewhere:
            _refuse_strays(rows, counted)
    return found


def _count(rows: OldRows, moved: Moved, seen: Seen) -> Counted:
    counted = Counted(moved)
    tasks = moved.placement.tasks
    for task in range(tasks):
        # The last of each key counts; a hash of 64 bits is good enough to say how many there are.
        names: list[Any] = []
        sizes: list[Any] = []
        for part in rows.of(moved, task):
            counted.records += len(part.keys)
            seen(len(part.keys))
            placing = list(map(moved.key_of, part.keys))
            for row in np.nonzero(np.asarray(partitions_for(placing, tasks)) != task)[0].tolist():
                if part.values[row] is not None:
                    _stray(counted, placing[row], task)
            names.append(np.fromiter(map(hash, part.keys), np.int64, len(part.keys)))
            lengths = [
                -1 if v is None else len(k) + len(v) for k, v in zip(part.keys, part.values, strict=True)
            ]
            sizes.append(np.asarray(lengths, np.int64))
        if names:
            backwards, size = np.concatenate(names)[::-1], np.concatenate(sizes)[::-1]
            size = size[np.unique(backwards, return_index=True)[1]]
            counted.keys += int((size >= 0).sum())
            counted.size += int(size[size >= 0].sum())
    return counted


def _stray(counted: Counted, key: bytes, task: int) -> None:
    counted.hashed = False
    if counted.elsewhere.setdefault(key, task) != task:
        raise _in_two(counted.moved, key, counted.elsewhere[key], task)


def _refuse_strays(rows: OldRows, counted: Counted) -> None:
    """A key that is in another task than its hash says may be in that one, too."""
    moved = counted.moved
    for task in range(moved.placement.tasks):
        for part in rows.of(moved, task):
            for raw, value in zip(part.keys, part.values, strict=True):
                key = moved.key_of(raw)
                if value is not None and counted.elsewhere.get(key, task) != task:
                    raise _in_two(moved, key, counted.elsewhere[key], task)


def _in_two(moved: Moved, key: bytes, one: int, other: int) -> RescaleError:
    low, high = sorted((one, other))
    return RescaleError(
        f"the key {key!r} has rows in task {low} and in task {high} of store `{moved.spec.name}`: its records were in "
        "several partitions, so they were not placed by their key, and nothing says which row is the right one",
        origin=moved.spec.origin,
    )
