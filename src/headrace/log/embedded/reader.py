"""Reading ranges of the embedded log, in short snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.errors import LogError, OffsetOutOfRangeError
from headrace.log.arrow import ArrowChunk
from headrace.log.base import Chunk, TopicPartition
from headrace.log.embedded import catalog
from headrace.log.embedded.catalog import PartitionState, Topic
from headrace.log.embedded.entries import MAX_ROWS, cut, decode, entry_key, join, parse_head, parse_key
from headrace.log.embedded.environment import Environment

# How much is copied out of one snapshot: a long read must not pin old pages, nor memory.
_BLOCK_BYTES = 16 * 1024 * 1024
# Entries below this size are handed out together, so that many small appends do not become many small chunks.
_SMALL_ROWS = 2_000


def read(environment: Environment, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[Chunk]:
    """The records of each range, partition by partition."""
    for place, (start, end) in ranges.items():
        topic: Topic | None = None
        position = start
        while position < end:
            with environment.read(buffers=True) as txn:
                found = catalog.find(txn, environment, place.topic)
                if topic is not None and topic.id != found.id:
                    raise LogError(f"topic `{place.topic}` was deleted and made anew while it was read")
                topic = found
                state = catalog.state(txn, environment, topic, place.partition)
                check_range(place, position, end, state)
                entries, position = block(txn, environment, topic, place.partition, position, end)
            try:
                for offsets, batch in _together(entries, start, end):
                    yield ArrowChunk(place.topic, place.partition, offsets, batch)
            except LogError as error:
                raise LogError(
                    f"topic `{place.topic}`, partition {place.partition}: {error.message}"
                ) from error


def check_range(place: TopicPartition, start: int, end: int, state: PartitionState) -> None:
    """OffsetOutOfRangeError unless the whole range is there."""
    if start < state.earliest or end > state.end:
        raise OffsetOutOfRangeError(
            f"topic `{place.topic}`, partition {place.partition}: wanted offsets {start} to {end - 1}, "
            f"available are {state.earliest} to {state.end - 1}; "
            + (
                "the older ones were deleted by retention or with the topic"
                if start < state.earliest
                else "was the topic deleted and made anew?"
            )
        )


def block(
    txn: Any, environment: Environment, topic: Topic, partition: int, start: int, end: int
) -> tuple[list[tuple[int, bytes]], int]:
    """Copies of the entries from `start` on, about a block full of them, and where to go on."""
    found: list[tuple[int, bytes]] = []
    size = 0
    with txn.cursor(db=environment.entries) as cursor:
        more = seek(cursor, topic.id, partition, start)
        while more:
            entry_topic, entry_partition, base = parse_key(bytes(cursor.key()))
            if (entry_topic, entry_partition) != (topic.id, partition) or base >= end:
                break
            if size >= _BLOCK_BYTES:
                return found, base
            found.append((base, bytes(cursor.value())))
            size += len(found[-1][1])
            more = cursor.next()
    return found, end


def seek(cursor: Any, topic_id: int, partition: int, start: int) -> bool:
    """Put the cursor on the first entry with an offset at or after `start`; false when there is none at all."""
    wanted = entry_key(topic_id, partition, start)
    found = bool(cursor.set_range(wanted))
    if found and bytes(cursor.key()) == wanted:
        return True
    # The entry before may begin earlier and still reach beyond `start`.
    before = cursor.prev() if found else cursor.last()
    if before and bytes(cursor.key()[:8]) == wanted[:8]:
        base = parse_key(bytes(cursor.key()))[2]
        if base + parse_head(cursor.value()).last_delta >= start:
            return True
    return bool(cursor.set_range(wanted))


def _together(
    entries: Sequence[tuple[int, bytes]], start: int, end: int
) -> Iterator[tuple[Sequence[int], pa.RecordBatch]]:
    gathered: list[tuple[Sequence[int], pa.RecordBatch]] = []
    rows = 0
    for base, entry in entries:
        part = cut(*decode(base, entry), start, end)
        if not len(part[0]):
            continue
        if gathered and (len(part[0]) >= _SMALL_ROWS or rows + len(part[0]) > MAX_ROWS):
            yield join(gathered)
            gathered, rows = [], 0
        gathered.append(part)
        rows += len(part[0])
    if gathered:
        yield join(gathered)


def offset_for_time(environment: Environment, place: TopicPartition, timestamp: int, since: int = 0) -> int:
    """The first offset, at or after `since`, whose timestamp is at or after the given one, or the end."""
    with environment.read(buffers=True) as txn, txn.cursor(db=environment.entries) as cursor:
        topic = catalog.find(txn, environment, place.topic)
        state = catalog.state(txn, environment, topic, place.partition)
        first = max(state.earliest, since)
        more = seek(cursor, topic.id, place.partition, first)
        while more:
            entry_topic, entry_partition, base = parse_key(bytes(cursor.key()))
            if (entry_topic, entry_partition) != (topic.id, place.partition):
                break
            if parse_head(cursor.value()).max_timestamp >= timestamp:
                offsets, batch = cut(*decode(base, bytes(cursor.value())), first, state.end)
                late = batch.column("timestamp").to_numpy() >= timestamp
                if late.any():
                    return int(offsets[int(np.argmax(late))])
            more = cursor.next()
        return state.end
