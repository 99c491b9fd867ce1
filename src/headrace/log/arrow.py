"""Records as Arrow batches: how the embedded log keeps them, and how they travel without Python lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headrace.log.base import Chunk, Outgoing
from headrace.record import NO_HEADERS, Headers

_HEADER = pa.struct([pa.field("name", pa.string(), nullable=False), pa.field("value", pa.binary())])
_PLAIN = [
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("timestamp", pa.int64(), nullable=False),
]
SCHEMA = pa.schema(_PLAIN)
SCHEMA_WITH_HEADERS = pa.schema([*_PLAIN, pa.field("headers", pa.list_(_HEADER))])


class ArrowChunk(Chunk):
    """A chunk that holds an Arrow batch (`SCHEMA` or `SCHEMA_WITH_HEADERS`); its lists are made when asked for."""

    __slots__ = ("batch",)

    def __init__(self, topic: str, partition: int, offsets: Sequence[int], batch: pa.RecordBatch) -> None:
        self.topic = topic
        self.partition = partition
        self.offsets = offsets
        self.batch = batch

    def __getattr__(self, name: str) -> Any:
        # Python comes here while a slot is empty; once filled, the slot answers by itself.
        column = _column(self.batch, name) if name in _COLUMNS else _missing(self, name)
        setattr(self, name, column)
        return column


class ArrowOutgoing(Outgoing):
    """Records to append that are an Arrow batch already; its lists are made when asked for (Kafka needs them)."""

    __slots__ = ("batch",)

    def __init__(
        self, topic: str, batch: pa.RecordBatch, partitions: Sequence[int] | int | None = None
    ) -> None:
        self.topic = topic
        self.batch = batch if batch.schema in (SCHEMA, SCHEMA_WITH_HEADERS) else conform(batch)
        self.partitions = partitions

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def __getattr__(self, name: str) -> Any:
        column = _column(self.batch, name) if name in _COLUMNS else _missing(self, name)
        setattr(self, name, column)
        return column


_COLUMNS = {"keys": "key", "values": "value", "timestamps": "timestamp", "headers": "headers"}


def _missing(owner: object, name: str) -> Any:
    raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")


def _column(batch: pa.RecordBatch, name: str) -> Any:
    if name != "headers":
        return batch.column(_COLUMNS[name]).to_pylist()
    if "headers" not in batch.schema.names:
        return None
    return [
        tuple((header["name"], header["value"]) for header in row) if row else NO_HEADERS
        for row in batch.column("headers").to_pylist()
    ]


def batches_of(records: Outgoing, rows: int) -> list[pa.RecordBatch]:
    """The records as Arrow batches of at most `rows` rows each."""
    if isinstance(records, ArrowOutgoing):
        return [records.batch.slice(at, rows) for at in range(0, len(records), rows)]
    return [_batch(records, at, min(at + rows, len(records))) for at in range(0, len(records), rows)]


def _batch(records: Outgoing, low: int, high: int) -> pa.RecordBatch:
    headers = records.headers[low:high] if records.headers is not None else None
    return to_batch(records.keys[low:high], records.values[low:high], records.timestamps[low:high], headers)


def conform(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns of a record, in their order and types, of a batch that has them somehow."""
    schema = SCHEMA_WITH_HEADERS if "headers" in batch.schema.names else SCHEMA
    return pa.record_batch([batch.column(field.name).cast(field.type) for field in schema], schema=schema)


def concat(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches as one; those without headers get empty ones where another has some."""
    if len(batches) == 1:
        return batches[0]
    if any(batch.num_columns > len(SCHEMA) for batch in batches):
        return pa.concat_batches([_with_headers(batch) for batch in batches])
    return pa.concat_batches(batches)


def _with_headers(batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.num_columns > len(SCHEMA):
        return batch
    nothing = pa.nulls(batch.num_rows, SCHEMA_WITH_HEADERS.field("headers").type)
    return pa.record_batch([*batch.columns, nothing], schema=SCHEMA_WITH_HEADERS)


def to_batch(
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
    timestamps: Sequence[int],
    headers: Sequence[Headers] | None = None,
) -> pa.RecordBatch:
    """Columns as one Arrow batch.

    >>> to_batch([b"a"], [None], [5]).to_pydict()
    {'key': [b'a'], 'value': [None], 'timestamp': [5]}
    """
    columns = [pa.array(keys, pa.binary()), pa.array(values, pa.binary()), pa.array(timestamps, pa.int64())]
    if headers is None or not any(headers):
        return pa.record_batch(columns, schema=SCHEMA)
    rows = [[{"name": name, "value": value} for name, value in row] if row else None for row in headers]
    columns.append(pa.array(rows, pa.list_(_HEADER)))
    return pa.record_batch(columns, schema=SCHEMA_WITH_HEADERS)
