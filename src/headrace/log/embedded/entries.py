"""An entry of the embedded log: a short head, then an Arrow IPC record batch.

The key is (topic id, partition, first offset), so that a partition lies in offset order. The head has what retention,
compaction and time look-ups need, so that they need not decode the batch.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.errors import LogError
from headrace.log.arrow import SCHEMA, SCHEMA_WITH_HEADERS, concat

MAX_ROWS = 20_000
MAX_BYTES = 4 * 1024 * 1024

_KEY = struct.Struct(">IIQ")
# version, flags, unused, records, last offset - first offset, highest timestamp, delete horizon (0: none yet)
_HEAD = struct.Struct("<BBHIqqq")
_VERSION = 1
_HAS_HEADERS = 1
_HAS_OFFSETS = 2

_OFFSET = pa.field("offset", pa.int64(), nullable=False)
_SCHEMAS = {
    0: SCHEMA,
    _HAS_HEADERS: SCHEMA_WITH_HEADERS,
    _HAS_OFFSETS: SCHEMA.append(_OFFSET),
    _HAS_HEADERS | _HAS_OFFSETS: SCHEMA_WITH_HEADERS.append(_OFFSET),
}


def entry_key(topic_id: int, partition: int, offset: int) -> bytes:
    """Where an entry lies."""
    return _KEY.pack(topic_id, partition, offset)


def parse_key(key: bytes) -> tuple[int, int, int]:
    """(topic id, partition, first offset)."""
    return _KEY.unpack(key)


@dataclass(slots=True)
class Head:
    """What an entry says of itself."""

    flags: int
    count: int
    last_delta: int
    max_timestamp: int
    horizon: int


def parse_head(value: bytes | memoryview) -> Head:
    """The head of an entry; `value` may be a view of the whole entry."""
    _, flags, _, count, last_delta, max_timestamp, horizon = _HEAD.unpack_from(value)
    return Head(flags, count, last_delta, max_timestamp, horizon)


def split(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Pieces that are small enough for an entry; a single large record is a piece of its own."""
    if batch.num_rows <= 1 or (batch.num_rows <= MAX_ROWS and batch.nbytes <= MAX_BYTES):
        return [batch]
    half = batch.num_rows // 2
    return split(batch.slice(0, half)) + split(batch.slice(half))


def max_timestamp(batch: pa.RecordBatch) -> int:
    """The highest timestamp of a batch that is not empty."""
    return int(batch.column("timestamp").to_numpy().max())


def encode(batch: pa.RecordBatch, offsets: Sequence[int] | None = None, horizon: int = 0) -> bytes:
    """A batch as an entry. `offsets` is needed only where they have gaps."""
    flags = _HAS_HEADERS if batch.num_columns > len(SCHEMA) else 0
    last_delta = batch.num_rows - 1
    highest = max_timestamp(batch)
    if offsets is not None and not _dense(offsets):
        flags |= _HAS_OFFSETS
        last_delta = offsets[-1] - offsets[0]
        batch = pa.record_batch([*batch.columns, pa.array(offsets, pa.int64())], schema=_SCHEMAS[flags])
    head = _HEAD.pack(_VERSION, flags, 0, batch.num_rows, last_delta, highest, horizon)
    return b"".join((head, batch.serialize()))


def _dense(offsets: Sequence[int]) -> bool:
    return offsets[-1] - offsets[0] == len(offsets) - 1


def decode(base: int, entry: bytes) -> tuple[Sequence[int], pa.RecordBatch]:
    """The offsets and the batch (without the offset column) of an entry."""
    try:
        head = parse_head(entry)
        batch = pa.ipc.read_record_batch(pa.py_buffer(entry).slice(_HEAD.size), _SCHEMAS[head.flags])
    except (pa.ArrowException, OSError, EOFError, KeyError, struct.error) as error:
        raise LogError(
            f"the entry at offset {base} is damaged ({error}): restore the log from a backup"
        ) from error
    if not head.flags & _HAS_OFFSETS:
        return range(base, base + batch.num_rows), batch
    offsets: list[int] = batch.column("offset").to_pylist()
    return offsets, batch.select(_SCHEMAS[head.flags & ~_HAS_OFFSETS].names)


def cut(
    offsets: Sequence[int], batch: pa.RecordBatch, start: int, end: int
) -> tuple[Sequence[int], pa.RecordBatch]:
    """The part with start <= offset < end."""
    if offsets[0] >= start and offsets[-1] < end:
        return offsets, batch
    low, high = (int(place) for place in np.searchsorted(np.asarray(offsets), [start, end]))
    return offsets[low:high], batch.slice(low, high - low)


def join(parts: Sequence[tuple[Sequence[int], pa.RecordBatch]]) -> tuple[Sequence[int], pa.RecordBatch]:
    """Neighbouring parts as one."""
    if len(parts) == 1:
        return parts[0]
    offsets: Sequence[int] = range(parts[0][0][0], parts[-1][0][-1] + 1)
    if sum(len(part) for part, _ in parts) != len(offsets):
        offsets = [offset for part, _ in parts for offset in part]
    return offsets, concat([batch for _, batch in parts])
