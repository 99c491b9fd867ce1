"""Filling a store from many changelog records at once: in columns, sorted, and without a Python object before the last
step. An empty LMDB database takes sorted entries at its end, which is several times as fast as finding each its place,
and leaves a file of a third of the size.

Imports Arrow and NumPy, so it is imported only where a changelog is long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.state.backend import Backend
from headrace.state.segments import Segments
from headrace.state.stamps import ChangelogChunk
from headrace.state.table import KEY, LONGEST
from headrace.topology.stores import StoreSpec

# Python objects of so many entries are there at a time.
_SLICE = 20_000
_SEGMENT = 8
_NOTHING = pa.scalar(b"", pa.binary())
_KEY = pa.scalar(KEY, pa.binary())


def takes_bulk(spec: StoreSpec) -> bool:
    """Whether the entries of a store do not depend on the order of the records of other keys."""
    if spec.ttl_ms or spec.max_entries:
        return False
    if spec.kind in ("window", "timestamped_window", "session"):
        return spec.persistent and not spec.retain_duplicates
    return spec.kind in ("key_value", "timestamped_key_value", "custom")


class Bulk:
    """Records of one store's changelog, collected until they are written together."""

    def __init__(self, spec: StoreSpec, backend: Backend) -> None:
        self._spec = spec
        self._backend = backend
        self._timestamped = spec.kind in ("timestamped_key_value", "timestamped_window")
        self._suffix = {"window": 12, "timestamped_window": 12, "session": 16}.get(spec.kind, 0)
        self._parts: list[tuple[Any, Any, Any]] = []
        self.records = 0
        self.bytes = 0

    def add(self, chunk: ChangelogChunk) -> bool:
        """Take a chunk; False when it has keys that must go in one by one."""
        keys, values, timestamps = _columns(chunk)
        lengths = pc.binary_length(keys)
        bounds = pc.min_max(lengths)
        longest, shortest = bounds["max"].as_py() or 0, bounds["min"].as_py()
        if longest > LONGEST - _SEGMENT or (
            self._suffix and shortest is not None and shortest < self._suffix
        ):
            return False
        self.records += len(keys)
        self.bytes += (pc.sum(lengths).as_py() or 0) + (pc.sum(pc.binary_length(values)).as_py() or 0)
        if keys.null_count:  # not of a store
            valid = keys.is_valid()
            keys, values, timestamps = keys.filter(valid), values.filter(valid), timestamps.filter(valid)
        self._parts.append((keys, values, timestamps))
        return True

    def take(self) -> Sorted:
        """What is to be written, as it is stored; the store's marks are moved on."""
        keys, values, timestamps = (_joined(columns) for columns in zip(*self._parts, strict=True))
        if self._timestamped:
            stamped = _big_endian(timestamps.to_numpy(zero_copy_only=False), ">i8")
            values = pc.binary_join_element_wise(stamped, values, _NOTHING)
        if self._suffix:
            keys, values = self._in_segments(keys, values)
        else:
            keys = pc.binary_join_element_wise(_KEY, keys, _NOTHING)
        taken = Sorted.of(keys, values, self.records, self.bytes)
        self._parts.clear()
        self.records = self.bytes = 0
        return taken

    def _in_segments(self, keys: Any, values: Any) -> tuple[Any, Any]:
        """Keys with their segment in front. What has expired by the last record is left out, as it would be gone."""
        suffixes = _ends(keys, self._suffix)
        times = suffixes[:, :8].copy().view(">u8").ravel().astype(np.int64)
        segments = Segments(self._backend, self._spec.retention_ms)
        marks = segments.marks
        if self._suffix == 12 and len(times):
            sequences = suffixes[:, 8:].copy().view(">u4")
            marks.sequence = max(marks.sequence, int(sequences.max()))
        if len(times) and int(times.max()) > marks.stream_time:
            segments.advance(int(times.max()))
        numbers = times // segments.interval
        live = numbers >= marks.floor
        if not live.all():
            kept = pa.array(live)
            keys, values, numbers = keys.filter(kept), values.filter(kept), numbers[live]
        prefixes = _big_endian(numbers, ">i8")
        return pc.binary_join_element_wise(_KEY, prefixes, keys, _NOTHING), values


@dataclass(slots=True)
class Sorted:
    """Entries in the order of their keys, the newest of each; and keys that are to go."""

    keys: Any
    values: Any
    deleted: Any
    records: int
    bytes: int
    """Of the changelog that this was made of."""

    @classmethod
    def of(cls, keys: Any, values: Any, records: int, size: int) -> Sorted:
        """Sort entries that are in the order of their arrival."""
        order = pc.array_sort_indices(keys)  # stable: of equal keys the newest comes last
        keys, values = keys.take(order), values.take(order)
        if len(keys) > 1:
            newest = pc.not_equal(keys.slice(0, len(keys) - 1), keys.slice(1))
            if pc.any(pc.invert(newest)).as_py():
                kept = pa.concat_arrays([newest, pa.array([True])])
                keys, values = keys.filter(kept), values.filter(kept)
        deleted = keys.slice(0, 0)
        if values.null_count:
            there = values.is_valid()
            deleted, keys, values = keys.filter(pc.invert(there)), keys.filter(there), values.filter(there)
        return cls(keys, values, deleted, records, size)

    def write(self, txn: Any, db: Any, tell: Callable[[float], None]) -> None:
        """Put all entries, and tell how far it is, from 0 to 1."""
        empty = txn.stat(db)["entries"] == 0
        with txn.cursor(db) as cursor:
            for at in range(0, len(self.keys), _SLICE):
                keys = self.keys.slice(at, _SLICE).to_pylist()
                cursor.putmulti(
                    zip(keys, self.values.slice(at, _SLICE).to_pylist(), strict=True), append=empty
                )
                tell((at + len(keys)) / len(self.keys))
        if not empty:
            for key in self.deleted.to_pylist():
                txn.delete(key, db=db)


def _columns(chunk: ChangelogChunk) -> tuple[Any, Any, Any]:
    batch = getattr(chunk, "batch", None)
    if batch is not None:
        return batch.column("key"), batch.column("value"), batch.column("timestamp")
    return (
        pa.array(chunk.keys, pa.binary()),
        pa.array(chunk.values, pa.binary()),
        pa.array(chunk.timestamps, pa.int64()),
    )


def _joined(columns: Sequence[Any]) -> Any:
    return columns[0] if len(columns) == 1 else pa.concat_arrays(columns)


def _big_endian(numbers: Any, kind: str) -> Any:
    """Numbers as eight bytes each."""
    data = pa.py_buffer(numbers.astype(kind).tobytes())
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(8), len(numbers), [None, data])
    return fixed.cast(pa.binary())


def _ends(keys: Any, size: int) -> Any:
    """The last bytes of each key, as rows; none is shorter."""
    _, offsets, data = keys.buffers()
    ends = np.frombuffer(offsets, np.int32)[keys.offset + 1 : keys.offset + len(keys) + 1]
    whole = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return whole[ends[:, None] + np.arange(-size, 0)]
