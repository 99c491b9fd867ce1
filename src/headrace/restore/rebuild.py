"""One task's stores made anew from its changelogs, and compared with those that are there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from headrace.errors import StoreError
from headrace.log import log_config, open_log
from headrace.log.base import TopicLog
from headrace.restore.recorded import Recorded, newest_commit
from headrace.spark.changelogs import TaskChangelogs
from headrace.spark.commit import CommitRecord
from headrace.spark.restores import RestoreEvent
from headrace.state.backend import Entry, ReadBackend
from headrace.state.expiry import ReadRows
from headrace.state.key_schema import SEGMENT_SIZE
from headrace.state.local import LocalReader, LocalState
from headrace.state.lru import ReadLruRows
from headrace.state.stamps import ChangelogChunk, Filling, ReadChangelog
from headrace.topology.stores import StoreSpec

_TRIES = 100
_PAUSE = 0.02
_ANEW = 3
_SEGMENTED = ("window", "timestamped_window", "session", "versioned")

Tell = Callable[[RestoreEvent], None]


class RebuiltStore(msgspec.Struct, frozen=True):
    """What it took to rebuild one store of one task."""

    store: str
    task: str
    keys: int
    records: int
    bytes: int
    seconds: float
    differing: int | None = None
    """Keys whose values differ from those of the local copy; None when there was none to compare with."""


class RebuiltTask(msgspec.Struct, frozen=True):
    """What it took to rebuild a task."""

    task: str
    commit: int
    began: float
    ended: float
    waiting: float
    """Seconds that it waited for records of the log."""
    stores: list[RebuiltStore]
    uncompared: str = ""
    """Why there was no local copy to compare with."""


def rebuild(recorded: Recorded, task: TaskChangelogs, folder: Path, tell: Tell) -> RebuiltTask:
    """Make a task's stores anew in a folder. Runs in a process of its own."""
    log = open_log(log_config(recorded.config))
    local = recorded.config.state_path / str(task.id)
    reader = LocalReader(local, task.placement.sub.stores) if (local / "data.mdb").exists() else None
    state = LocalState(folder / str(task.id), task.placement.sub.stores)
    try:
        base, uncompared = recorded.base, "there is no local copy"
        if reader is not None:
            base, uncompared = _common_commit(log, recorded, task, reader)
        reading = _Timed(task.reading(lambda: log))
        began = time.time()
        recovery = state.prepare(task.accepted(base), reading, lambda filling: tell(_event(task, filling)))
        ended = time.time()
        differing: dict[str, int] = {}
        if reader is not None and not uncompared:
            differing = _compare(task, state, reader)
            for _ in range(_ANEW if any(differing.values()) else 0):
                # While this was read, the log may have been compacted beyond the commit: look at a newer one.
                base, uncompared = _common_commit(log, recorded, task, reader)
                if not uncompared:
                    state.prepare(task.accepted(base), task.reading(lambda: log))
                    differing = _compare(task, state, reader)
        took = {filling.store: filling for filling in recovery.stores}
        stores = []
        for spec in _logged(task):
            filling = took.get(spec.name, Filling(spec.name, 0, 0, 0))
            keys = state.backend(spec.name).count()
            stores.append(
                RebuiltStore(
                    spec.name,
                    str(task.id),
                    keys,
                    filling.records,
                    filling.bytes,
                    filling.seconds,
                    differing.get(spec.name),
                )
            )
        return RebuiltTask(str(task.id), base.number, began, ended, reading.seconds, stores, uncompared)
    finally:
        state.close()
        if reader is not None:
            reader.close()
        log.close()


def _logged(task: TaskChangelogs) -> list[StoreSpec]:
    """Of others there is nothing to make them from."""
    return [spec for spec in task.placement.sub.stores if spec.logging or spec.changelog_topic is not None]


def _compare(task: TaskChangelogs, state: LocalState, reader: LocalReader) -> dict[str, int]:
    return {
        spec.name: differences(spec, state.backend(spec.name), reader.backend(spec.name))
        for spec in _logged(task)
    }


def _common_commit(
    log: TopicLog, recorded: Recorded, task: TaskChangelogs, reader: LocalReader
) -> tuple[CommitRecord, str]:
    """A commit that both the log and the local copy hold: the application may be running. Else the reason."""
    base = recorded.base
    for attempt in range(_TRIES):
        try:
            stamp = reader.renew()
        except StoreError as error:
            return base, str(error)
        base = newest_commit(log, recorded.config.application_id)
        accepted = task.accepted(base)
        if accepted.stamp == stamp:
            return base, ""
        if (
            stamp is not None
            and accepted.stamp is not None
            and stamp.commit < accepted.stamp.commit
            and attempt > 5
        ):
            break
        time.sleep(_PAUSE)
    return base, "the local copy is of another commit"


class _Timed:
    """A changelog, and how long one has waited for it."""

    def __init__(self, read: ReadChangelog) -> None:
        self._read = read
        self.seconds = 0.0

    def __call__(self, store: str, start: int, end: int) -> Iterator[ChangelogChunk]:
        began = time.perf_counter()
        for chunk in self._read(store, start, end):
            self.seconds += time.perf_counter() - began
            yield chunk
            began = time.perf_counter()
        self.seconds += time.perf_counter() - began


def differences(spec: StoreSpec, one: ReadBackend, other: ReadBackend) -> int:
    """How many keys have another value in the other one, or are in one of the two only."""
    floor = max(one.marks.floor, other.marks.floor)
    left, right = _entries(spec, one, floor), _entries(spec, other, floor)
    count = 0
    a, b = next(left, None), next(right, None)
    while a is not None or b is not None:
        if a == b:
            a, b = next(left, None), next(right, None)
            continue
        count += 1
        if b is None or (a is not None and a[0] < b[0]):
            a = next(left, None)
        elif a is None or b[0] < a[0]:
            b = next(right, None)
        else:
            a, b = next(left, None), next(right, None)
    return count


def _entries(spec: StoreSpec, backend: ReadBackend, floor: int) -> Iterator[Entry]:
    """What can be read of a store: without an order of use, and without what has expired and is not deleted yet."""
    if spec.ttl_ms:
        return ReadRows(backend).range(None, None)
    if spec.max_entries:
        return ReadLruRows(backend).range(None, None)
    entries = backend.range(None, None)
    if spec.kind not in _SEGMENTED or not floor:
        return entries
    return (entry for entry in entries if int.from_bytes(entry[0][:SEGMENT_SIZE]) >= floor)


def _event(task: TaskChangelogs, filling: Filling) -> RestoreEvent:
    return RestoreEvent(
        "end" if filling.is_done else "progress",
        str(task.id),
        filling.store,
        task.topic(filling.store),
        task.id.partition,
        filling.start,
        filling.end,
        filling.at,
        filling.records,
        filling.bytes,
        filling.seconds,
    )
