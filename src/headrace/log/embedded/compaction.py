"""Compaction of a topic (the newest record of each key stays, at its offset) and joining of small entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from headrace.failpoints import failpoint
from headrace.log.embedded import catalog
from headrace.log.embedded.catalog import PartitionState, Topic
from headrace.log.embedded.entries import (
    MAX_BYTES,
    MAX_ROWS,
    Head,
    decode,
    encode,
    entry_key,
    join,
    parse_head,
    split,
)
from headrace.log.embedded.environment import Environment
from headrace.log.embedded.reader import block

# The most keys that are remembered at once; a longer dirty part is done in several rounds.
_MOST_KEYS = 2_000_000
_SMALL_ROWS = 2_000
_SMALL_BYTES = 256 * 1024
# Fewer small entries than this are not worth a rewrite.
_MANY = 50


def compact(
    environment: Environment, topic: Topic, partition: int, now: int, stop: Callable[[], bool] = lambda: False
) -> int:
    """Drop what a newer record of the same key has replaced, and tombstones whose time is over.

    As in Kafka it waits until `min.cleanable.dirty.ratio` of the records are new, and a tombstone stays for
    `delete.retention.ms` after its first compaction, so that readers under way see it. What is not older than
    `min.compaction.lag.ms`, by the clock and by the partition's own time, is left as it is.
    """
    with environment.read() as txn:
        if not catalog.is_there(txn, environment, topic):
            return 0
        state = catalog.state(txn, environment, topic, partition)
    state.end = _cleanable(environment, topic, partition, state, now)
    ratio = topic.number("min.cleanable.dirty.ratio")
    dropped = 0
    while state.cleaned < state.end and _dirty(environment, topic, partition, state) >= ratio:
        latest: dict[bytes, int] = {}
        clean_to = state.cleaned
        for base, entry in _entries(environment, topic, partition, state.cleaned, state.end):
            offsets, batch = decode(base, entry)
            latest.update(zip(batch.column("key").to_pylist(), offsets, strict=True))
            clean_to = offsets[-1] + 1
            if stop():
                return dropped
            if len(latest) >= _MOST_KEYS:
                break
        else:
            # Also when the last offsets are not there any more: else this round would be done again and again.
            clean_to = max(clean_to, state.end)
        gone, finished = _rewrite(environment, topic, partition, clean_to, latest, now, stop)
        dropped += gone
        if not finished:
            return dropped
        state.cleaned = clean_to
        with environment.write() as txn:
            if not catalog.is_there(txn, environment, topic):
                return dropped
            newest = catalog.state(txn, environment, topic, partition)
            newest.cleaned = max(clean_to, newest.cleaned)
            catalog.put_state(txn, environment, topic, partition, newest)
    return dropped


def _cleanable(
    environment: Environment, topic: Topic, partition: int, state: PartitionState, now: int
) -> int:
    """Where the records begin that are too young to be compacted; as in Kafka nothing after them is, either."""
    lag = topic.number("min.compaction.lag.ms")
    if lag <= 0:
        return state.end
    limit = min(now, state.max_timestamp) - lag
    start = state.cleaned
    while start < state.end:
        with environment.read(buffers=True) as txn:
            entries, after = block(txn, environment, topic, partition, start, state.end)
        for base, entry in entries:
            if parse_head(entry).max_timestamp >= limit:
                return max(base, state.cleaned)
        start = after
    return state.end


def _dirty(environment: Environment, topic: Topic, partition: int, state: PartitionState) -> float:
    clean = dirty = 0
    with environment.read(buffers=True) as txn, txn.cursor(db=environment.entries) as cursor:
        found = cursor.set_range(catalog.state_key(topic.id, partition))
        while found and bytes(cursor.key()[:8]) == catalog.state_key(topic.id, partition):
            count = parse_head(cursor.value()).count
            base = int.from_bytes(cursor.key()[8:], "big")
            if base >= state.end:
                break
            if base < state.cleaned:
                clean += count
            else:
                dirty += count
            found = cursor.next()
    return dirty / max(1, clean + dirty)


def _entries(
    environment: Environment, topic: Topic, partition: int, start: int, end: int
) -> Iterator[tuple[int, bytes]]:
    while start < end:
        with environment.read(buffers=True) as txn:
            entries, start = block(txn, environment, topic, partition, start, end)
        yield from entries


def _rewrite(
    environment: Environment,
    topic: Topic,
    partition: int,
    clean_to: int,
    latest: dict[bytes, int],
    now: int,
    stop: Callable[[], bool],
) -> tuple[int, bool]:
    """How many records were dropped, and whether all entries were looked at."""
    group = _Group(environment, topic, partition)
    dropped = 0
    for base, entry in _entries(environment, topic, partition, 0, clean_to):
        if stop():
            group.flush()
            return dropped, False
        head = parse_head(entry)
        offsets, batch = decode(base, entry)
        values = batch.column("value")
        over = 0 < head.horizon <= now
        keys = batch.column("key").to_pylist()
        keep = [latest.get(key, offset) == offset for key, offset in zip(keys, offsets, strict=True)]
        horizon = 0
        if values.null_count:
            if over:
                keep = [kept and live for kept, live in zip(keep, values.is_valid().to_pylist(), strict=True)]
            else:
                horizon = head.horizon or now + int(topic.number("delete.retention.ms"))
        kept = sum(keep)
        dropped += len(keep) - kept
        if kept == len(keep) and horizon == head.horizon and not _small(head, entry):
            group.flush()
            continue
        rest = [offset for offset, stays in zip(offsets, keep, strict=True) if stays]
        group.add(base, rest, batch.filter(pa.array(keep)), horizon)
    group.flush()
    return dropped, True


def tidy(environment: Environment, topic: Topic, partition: int) -> int:
    """Join runs of small neighbouring entries: a topic fed record by record would else be slow to read."""
    with environment.read(buffers=True) as txn, txn.cursor(db=environment.entries) as cursor:
        prefix = catalog.state_key(topic.id, partition)
        small: list[int] = []
        found = cursor.set_range(prefix)
        while found and bytes(cursor.key()[:8]) == prefix:
            if _small(parse_head(cursor.value()), cursor.value()):
                small.append(int.from_bytes(cursor.key()[8:], "big"))
            found = cursor.next()
    if len(small) < _MANY:
        return 0
    wanted = set(small)
    group = _Group(environment, topic, partition)
    for base, entry in _entries(environment, topic, partition, small[0], small[-1] + 1):
        if base in wanted:
            group.add(base, *decode(base, entry), 0)
        else:
            group.flush()
    group.flush()
    return len(small)


def _small(head: Head, entry: bytes | memoryview) -> bool:
    return head.count < _SMALL_ROWS and len(entry) < _SMALL_BYTES


class _Group:
    """Neighbouring entries that become one; replaced in one short transaction."""

    def __init__(self, environment: Environment, topic: Topic, partition: int) -> None:
        self._environment = environment
        self._topic = topic
        self._partition = partition
        self._clear()

    def _clear(self) -> None:
        self._old: list[int] = []
        self._parts: list[tuple[Sequence[int], pa.RecordBatch]] = []
        self._rows = self._size = self._horizon = 0

    def add(self, base: int, offsets: Sequence[int], batch: pa.RecordBatch, horizon: int) -> None:
        self._old.append(base)
        if batch.num_rows:
            self._parts.append((offsets, batch))
        self._rows += batch.num_rows
        self._size += batch.nbytes
        self._horizon = max(self._horizon, horizon)
        if self._rows >= MAX_ROWS or self._size >= MAX_BYTES or len(self._old) >= MAX_ROWS:
            self.flush()

    def flush(self) -> None:
        if not self._old:
            return
        new = []
        if self._parts:
            offsets, batch = join(self._parts)
            at = 0
            for piece in split(batch):
                part = offsets[at : at + piece.num_rows]
                new.append((part[0], encode(piece, part, self._horizon)))
                at += piece.num_rows
        environment = self._environment
        with environment.write() as txn:
            # A topic deleted meanwhile takes its entries along; do not bring them back.
            if catalog.is_there(txn, environment, self._topic):
                for base in self._old:
                    txn.delete(entry_key(self._topic.id, self._partition, base), db=environment.entries)
                for base, entry in new:
                    txn.put(entry_key(self._topic.id, self._partition, base), entry, db=environment.entries)
            failpoint("upkeep.inside")
        failpoint("upkeep.after")
        self._clear()
