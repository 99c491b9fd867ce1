"""Appending to the embedded log: everything is encoded first, and only then is the write lock taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headrace.errors import LogError
from headrace.log.arrow import batches_of, concat
from headrace.log.base import Outgoing, TopicPartition
from headrace.log.embedded import catalog
from headrace.log.embedded.catalog import Topic
from headrace.log.embedded.entries import MAX_ROWS, encode, entry_key, max_timestamp, split
from headrace.log.embedded.environment import Environment
from headrace.partitioning import murmur2_many

_ENOUGH_ROWS = 4_096


class Prepared(NamedTuple):
    """An encoded entry that waits for its offset."""

    topic: Topic
    partition: int
    rows: int
    max_timestamp: int
    entry: bytes


def prepare(environment: Environment, records: Sequence[Outgoing]) -> list[Prepared]:
    """Partition and encode, without the write lock."""
    with environment.read() as txn:
        topics = {item.topic: catalog.find(txn, environment, item.topic) for item in records if len(item)}
        turns = {name: _count(txn, environment, topic) for name, topic in topics.items()}
    parts: dict[tuple[str, int], list[pa.RecordBatch]] = {}
    for item in records:
        if len(item):
            for partition, batch in _by_partition(item, topics[item.topic], turns):
                parts.setdefault((item.topic, partition), []).append(batch)
    return [
        Prepared(topics[name], partition, piece.num_rows, max_timestamp(piece), encode(piece))
        for (name, partition), batches in parts.items()
        for gathered in _gather(batches)
        for piece in split(gathered)
    ]


def size(prepared: Sequence[Prepared]) -> int:
    """How many bytes they are."""
    return sum(len(item.entry) for item in prepared)


def _gather(batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches of a partition become one entry: many tasks that each write a little must not slow readers down."""
    small: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        small.append(batch)
        rows += batch.num_rows
        if rows >= _ENOUGH_ROWS:
            yield concat(small)
            small, rows = [], 0
    if small:
        yield concat(small)


def write(txn: Any, environment: Environment, prepared: Sequence[Prepared]) -> Mapping[TopicPartition, int]:
    """Give the entries their offsets, in a write transaction; the ends of the partitions written."""
    states = {}
    for item in prepared:
        place = TopicPartition(item.topic.name, item.partition)
        if place not in states:
            if catalog.find(txn, environment, item.topic.name).id != item.topic.id:
                raise LogError(f"topic `{item.topic.name}` was deleted and made anew meanwhile: append again")
            states[place] = (item.topic, catalog.state(txn, environment, item.topic, item.partition))
        state = states[place][1]
        txn.put(entry_key(item.topic.id, item.partition, state.end), item.entry, db=environment.entries)
        state.end += item.rows
        state.max_timestamp = max(state.max_timestamp, item.max_timestamp)
    for (_, partition), (topic, state) in states.items():
        catalog.put_state(txn, environment, topic, partition, state)
    return {place: state.end for place, (_, state) in states.items()}


def _count(txn: Any, environment: Environment, topic: Topic) -> int:
    # Records without a key take turns; beginning at the number of records spreads them evenly over many small
    # appends of many processes as well.
    return sum(catalog.state(txn, environment, topic, p).end for p in range(topic.partitions))


def _by_partition(
    item: Outgoing, topic: Topic, turns: dict[str, int]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    if isinstance(item.partitions, int):
        _check(topic, item.partitions, item.partitions)
    parts: dict[int, list[pa.RecordBatch]] = {}
    done = 0
    for batch in batches_of(item, 8 * MAX_ROWS):
        if topic.compacted and batch.column("key").null_count:
            raise LogError(f"topic `{topic.name}` is compacted, so every record needs a key; got one without")
        if topic.partitions == 1 and item.partitions is None:
            parts.setdefault(0, []).append(batch)
        elif isinstance(item.partitions, int):
            parts.setdefault(item.partitions, []).append(batch)
        else:
            if item.partitions is None:
                wanted = _hashed(batch.column("key"), topic, turns)
            else:
                wanted = np.asarray(item.partitions[done : done + batch.num_rows], np.int64)
                _check(topic, int(wanted.min()), int(wanted.max()))
            for partition, part in _divide(batch, wanted, topic.partitions):
                parts.setdefault(partition, []).append(part)
        done += batch.num_rows
    for partition, batches in parts.items():
        for batch in batches:
            yield partition, batch


def _check(topic: Topic, low: int, high: int) -> None:
    if low < 0 or high >= topic.partitions:
        wrong = low if low < 0 else high
        raise LogError(
            f"topic `{topic.name}` has partitions 0 to {topic.partitions - 1}, got partition {wrong}"
        )


def _hashed(keys: pa.BinaryArray, topic: Topic, turns: dict[str, int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The partition of every key of an Arrow column, hashed where the bytes lie."""
    _, offsets, data = keys.buffers()
    ends = np.frombuffer(offsets, np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    hashes = murmur2_many(content, ends[:-1], np.diff(ends))
    result = (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64) % topic.partitions
    if keys.null_count:
        missing = keys.is_null().to_numpy(zero_copy_only=False)
        count = int(missing.sum())
        result[missing] = (turns[topic.name] + np.arange(count)) % topic.partitions
        turns[topic.name] += count
    return result


def _divide(
    batch: pa.RecordBatch, wanted: np.ndarray[Any, np.dtype[np.int64]], partitions: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    order = np.argsort(wanted, kind="stable")
    edges = np.searchsorted(wanted[order], np.arange(partitions + 1))
    moved = batch.take(pa.array(order))
    for partition in range(partitions):
        low, high = int(edges[partition]), int(edges[partition + 1])
        if high > low:
            yield partition, moved.slice(low, high - low)
