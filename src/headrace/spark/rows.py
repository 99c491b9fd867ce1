"""The rows that cross Spark: each carries up to some ten thousand records as one Arrow message.

Spark pays for every row, so records travel packed: a row is (slot, stage, kind, task, topic, partition, payload).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import pyarrow as pa

from headrace.disk import temporary_room
from headrace.log import arrow
from headrace.log.base import Chunk
from headrace.record import Headers

Kind: TypeAlias = Literal["control", "records", "plan", "output", "changelog", "report", "print", "error"]
"""
control:   the plan of the batch, for a stage's task
records:   input of a task
plan:      the plan of the batch, for the driver
output:    records for a topic of the user's, or for a looped repartition topic
changelog: changes of a store
report:    what a task did: its stamp and due time, counts
print:     what a task has printed, for the user's terminal
error:     the batch has failed, and why
"""

DRIVER = 1_000_000
"""The stage number of rows that are meant for the driver: they pass through every stage."""

SPARK_SCHEMA = (
    "slot int, stage int, kind string, sub int, task int, topic string, partition int, payload binary"
)
ARROW_SCHEMA = pa.schema(
    [
        ("slot", pa.int32()),
        ("stage", pa.int32()),
        ("kind", pa.string()),
        ("sub", pa.int32()),
        ("task", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("payload", pa.binary()),
    ]
)
PACKED = 20_000
"""Records in a row, at the most."""
PACKED_BYTES = 8 * 1024 * 1024
"""Bytes in a row, about: Spark moves rows one by one through buffers of its own."""

LARGE = 64 * 1024
"""Bytes from which on a message goes into a file, if it may."""
PARCEL = b"parcel:"
"""The beginning of a message that names a file; one of Arrow begins with 0xffffffff."""


class Row(NamedTuple):
    """One row, before it becomes Arrow."""

    slot: int
    stage: int
    kind: Kind
    sub: int
    task: int
    topic: str
    partition: int
    payload: bytes
    chunk: Chunk | None = None
    """The records of a row that does not leave its process, instead of a payload."""


def to_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as an Arrow batch."""
    columns = list(zip(*rows, strict=True))[: len(ARROW_SCHEMA)] if rows else [()] * len(ARROW_SCHEMA)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, ARROW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def from_batch(batch: Any) -> Iterator[Row]:
    """The rows of an Arrow batch or table."""
    columns = [column.to_pylist() for column in batch.columns]
    for values in zip(*columns, strict=True):
        yield Row(*values)


def records(
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
    timestamps: Sequence[int],
    headers: Sequence[Headers] | None = None,
    *,
    offsets: Sequence[int] | None = None,
    partitions: Sequence[int | None] | None = None,
) -> pa.RecordBatch:
    """Columns of records as an Arrow batch; columns that say nothing are left out."""
    return with_places(arrow.to_batch(keys, values, timestamps, headers), offsets, partitions)


def with_places(
    batch: pa.RecordBatch, offsets: Sequence[int] | None, partitions: Sequence[int | None] | None = None
) -> pa.RecordBatch:
    """The same records with their offsets, or with partitions that a sink has chosen."""
    if offsets is not None:
        batch = batch.append_column("offset", pa.array(offsets, type=pa.int64()))
    if partitions is not None:
        batch = batch.append_column("partition", pa.array(partitions, type=pa.int32()))
    return batch


def pack(batch: pa.RecordBatch, parcels: str | None = None) -> bytes:
    """An Arrow batch of records as one message that says what it holds. Where all processes see the folder `parcels`, a
    large one goes there, and the message only names it: Spark would copy it ten times on its way.
    """
    if parcels is not None and batch.nbytes >= LARGE:
        path = Path(parcels, uuid.uuid4().hex)
        with temporary_room(path.parent, f"a message of this batch needs about {batch.nbytes:,} bytes"):
            path.parent.mkdir(exist_ok=True)
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batch.schema) as writer:
                writer.write_batch(batch)
        return PARCEL + bytes(path)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def pack_in_parts(batch: pa.RecordBatch, parcels: str | None = None) -> Iterator[bytes]:
    """The same in messages of at most `PACKED` records and about `PACKED_BYTES` bytes."""
    size = min(PACKED, max(1, batch.num_rows * PACKED_BYTES // max(1, batch.nbytes)))
    for start in range(0, batch.num_rows, size):
        yield pack(batch.slice(start, size), parcels)


def unpack(payload: bytes) -> pa.RecordBatch:
    """The inverse of `pack`."""
    # What is mapped stays there when the file is deleted.
    named = payload.startswith(PARCEL)
    source = pa.memory_map(os.fsdecode(payload[len(PARCEL) :])) if named else pa.py_buffer(payload)
    with pa.ipc.open_stream(source) as reader:
        return reader.read_next_batch()


def places(batch: pa.RecordBatch, name: str) -> list[int] | None:
    """The column of offsets or partitions, if it is there."""
    return batch.column(name).to_pylist() if name in batch.schema.names else None


def to_chunk(row: Row) -> Chunk:
    """The records of a `records` row."""
    if row.chunk is not None:
        return row.chunk
    batch = unpack(row.payload)
    offsets = places(batch, "offset")
    return arrow.ArrowChunk(
        row.topic, row.partition, offsets if offsets is not None else range(batch.num_rows), batch
    )


def salts(slots: int) -> list[int]:
    """For each slot a number that Spark's hash partitioning sends there: pmod(murmur3(salt), slots) = slot."""
    found: dict[int, int] = {}
    candidate = 0
    while len(found) < slots:
        found.setdefault(_spark_hash(candidate) % slots, candidate)
        candidate += 1
    return [found[slot] for slot in range(slots)]


def _spark_hash(value: int, seed: int = 42) -> int:
    """Spark's Murmur3 of one int column, as a signed 32-bit number (Python's % is already Spark's pmod)."""
    mask = 0xFFFFFFFF
    k = value * 0xCC9E2D51 & mask
    k = (k << 15 | k >> 17) & mask
    k = k * 0x1B873593 & mask
    h = seed ^ k
    h = (h << 13 | h >> 19) & mask
    h = (h * 5 + 0xE6546B64) & mask
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & mask
    h ^= h >> 13
    h = h * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h & 0x80000000 else h
