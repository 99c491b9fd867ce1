"""A limited number of rows: the one that was used longest ago makes room for a new one, as in Kafka Streams' LRU map.

How long ago each row was used is kept beside the rows, so that it is committed and rolled back with them. A changelog
has only the writes: a store that is filled from it knows the rows in the order in which they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import TypeAlias

from headrace.state.backend import Backend, Entry, Marks, ReadBackend

_HEAD = b"\0"
_PLACE = b"\1"
_ROW = b"\2"
_BEYOND = b"\3"
_UNUSED = (0, 0, 0)

_head = Struct(">QQQ")  # the next place, how many rows there are, and a place before which there is none
_place = Struct(">Q")

Evicted: TypeAlias = Callable[[bytes], None]


class ReadLruRows:
    """The rows without their places: for queries, which leave the order of use as it is."""

    __slots__ = ("_rows", "marks")

    def __init__(self, backend: ReadBackend) -> None:
        self._rows = backend
        self.marks: Marks = backend.marks

    def get(self, key: bytes, /) -> bytes | None:
        """The value of a key."""
        row = self._rows.get(_ROW + key)
        return None if row is None else row[8:]

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[Entry]:
        """The entries with low <= key < high. Seeing a row this way is no use of it, as in Kafka Streams."""
        first = _ROW if low is None else _ROW + low
        last = _BEYOND if high is None else _ROW + high
        return ((key[1:], row[8:]) for key, row in self._rows.range(first, last, reverse))

    def first(self, low: bytes, high: bytes) -> bytes | None:
        """The lowest key with low <= key < high."""
        found = self._rows.first(_ROW + low, _ROW + high)
        return None if found is None else found[1:]

    def count(self) -> int:
        """How many rows there are."""
        return _read_head(self._rows)[1]


class LruRows(ReadLruRows):
    """The rows, of which there are never more than `most`; `evicted` is told the keys that had to go."""

    __slots__ = ("_backend", "_evicted", "_most")

    def __init__(self, backend: Backend, most: int, evicted: Evicted | None = None) -> None:
        super().__init__(backend)
        self._backend = backend
        self._most = most
        self._evicted = evicted

    def get(self, key: bytes, /) -> bytes | None:
        """The value of a key, which is now the one that was used last."""
        row = self._backend.get(_ROW + key)
        if row is None:
            return None
        self._use(key, row[8:], row)
        return row[8:]

    def put(self, key: bytes, value: bytes, /) -> None:
        """Set a value; if that is one row too many, the one that was used longest ago goes."""
        row = self._backend.get(_ROW + key)
        self._use(key, value, row)
        if row is None:
            following, count, oldest = _read_head(self._backend)
            if count > self._most:
                oldest, count = self._evict(oldest), count - 1
            self._backend.put(_HEAD, _head.pack(following, count, oldest))

    def put_many(self, entries: Iterable[Entry]) -> None:
        """Put each (key, value)."""
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: bytes, /) -> None:
        """Remove a row, if it is there."""
        row = self._backend.get(_ROW + key)
        if row is not None:
            following, count, oldest = _read_head(self._backend)
            self._backend.delete(_ROW + key)
            self._backend.delete(_PLACE + row[:8])
            self._backend.put(_HEAD, _head.pack(following, count - 1, oldest))

    def truncate(self, floor: int, before: bytes) -> None:
        """Only stores with segments are truncated."""
        raise TypeError("a store of a limited size has no segments")

    def _use(self, key: bytes, value: bytes, row: bytes | None) -> None:
        backend = self._backend
        following, count, oldest = _read_head(backend)
        place = _place.pack(following)
        if row is None:
            count += 1
        else:
            backend.delete(_PLACE + row[:8])
        backend.put(_PLACE + place, key)
        backend.put(_ROW + key, place + value)
        backend.put(_HEAD, _head.pack(following + 1, count, oldest))

    def _evict(self, oldest: int) -> int:
        """Remove the row at the first place that is taken; returns a place before which there is none now."""
        backend = self._backend
        place = backend.first(_PLACE + _place.pack(oldest), _ROW)
        key = None if place is None else backend.get(place)
        assert place is not None
        assert key is not None
        backend.delete(place)
        backend.delete(_ROW + key)
        if self._evicted is not None:
            self._evicted(key)
        return int(_place.unpack_from(place, 1)[0]) + 1


def _read_head(backend: ReadBackend) -> tuple[int, int, int]:
    raw = backend.get(_HEAD)
    return _UNUSED if raw is None else _head.unpack(raw)
