"""Rows that live for a limited time: a backend that also keeps them in the order in which they run out.

A row is stored with its own timestamp in front, and has one entry in the index:

    R | key                  ->  time of its entry (8) | timestamp (8) | value
    I | time (8) | key       ->  nothing

A row that is updated keeps its entry where it is; when the entry's time has come, the entry moves to where the row is
by then. So a row costs one entry per lifetime, however often it changes, and no look at the index is ever longer than
what it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any, Final, NamedTuple

from headrace.state.backend import Backend, Entry, Marks, ReadBackend
from headrace.state.base import Changelog
from headrace.state.front import Front

_INDEX: Final = b"I"
_ROW: Final = b"R"
_END: Final = b"S"

_time = Struct(">q")
_order = Struct(">Q")
_ZERO: Final = 1 << 63

NEVER: Final = 1 << 62
UNKNOWN: Final = -(1 << 62)
"""Nobody has looked yet when the first row runs out."""


class ReadRows:
    """The rows alone, for reading."""

    __slots__ = ("_inner",)

    def __init__(self, inner: ReadBackend) -> None:
        self._inner = inner

    @property
    def marks(self) -> Marks:
        return self._inner.marks

    def get(self, key: bytes, /) -> bytes | None:
        """Timestamp and value of a row."""
        row = self._inner.get(_ROW + key)
        return None if row is None else row[8:]

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[Entry]:
        """The rows with low <= key < high."""
        entries = self._inner.range(
            _ROW if low is None else _ROW + low, _END if high is None else _ROW + high, reverse
        )
        return ((key[1:], row[8:]) for key, row in entries)

    def first(self, low: bytes, high: bytes) -> bytes | None:
        """The lowest key of a row with low <= key < high."""
        found = self._inner.first(_ROW + low, _ROW + high)
        return None if found is None else found[1:]

    def count(self) -> int:
        """How many rows there are: each has one entry in the index."""
        return self._inner.count() // 2


class ExpiringRows(ReadRows):
    """Rows, each with its timestamp in front, and their index."""

    __slots__ = ("_backend", "_front", "earliest")

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._backend = backend
        self._front = Front(backend, _INDEX, _ROW)
        self.earliest = UNKNOWN
        """No entry of the index is before this time."""

    def put(self, key: bytes, stamped: bytes, /) -> None:
        """Set a row."""
        backend = self._backend
        (entry,) = _time.unpack_from(stamped)
        old = backend.get(_ROW + key)
        if old is None:
            self._enter(entry, key)
        else:
            (before,) = _time.unpack_from(old)
            if entry < before:
                backend.delete(_place(before, key))
                self._enter(entry, key)
            else:
                entry = before
        backend.put(_ROW + key, _time.pack(entry) + stamped)

    def put_many(self, entries: Iterable[Entry]) -> None:
        """Set each row."""
        for key, stamped in entries:
            self.put(key, stamped)

    def delete(self, key: bytes, /) -> None:
        """Remove a row, if it is there."""
        old = self._backend.get(_ROW + key)
        if old is not None:
            self._backend.delete(_ROW + key)
            self._backend.delete(_place(_time.unpack_from(old)[0], key))

    def truncate(self, floor: int, before: bytes) -> None:
        """Only stores with segments are truncated."""
        raise TypeError("rows that expire are not kept in segments")

    def take(self, before: int) -> list[tuple[int, bytes, bytes]]:
        """Remove the rows whose timestamp is lower, and return them by (timestamp, key): with what they held."""
        backend, taken = self._backend, []
        limit = _place(before, b"")
        while (place := self._first()) is not None and place < limit:
            key = place[9:]
            row = backend.get(_ROW + key)
            assert row is not None
            self._front.pop()
            backend.delete(place)
            (timestamp,) = _time.unpack_from(row, 8)
            if timestamp < before:
                backend.delete(_ROW + key)
                taken.append((timestamp, key, row[8:]))
            else:
                self._enter(timestamp, key)
                backend.put(_ROW + key, _time.pack(timestamp) + row[8:])
        self.earliest = NEVER if place is None else _order.unpack_from(place, 1)[0] - _ZERO
        taken.sort()
        return taken

    def forget(self) -> None:
        """The backend went back to an earlier state: look again."""
        self._front.forget()
        self.earliest = UNKNOWN

    def _enter(self, time: int, key: bytes) -> None:
        place = _place(time, key)
        self._backend.put(place, b"")
        self._front.add(place)
        if time < self.earliest:
            self.earliest = time

    def _first(self) -> bytes | None:
        """The first entry of the index. Of a row that was deleted, or got an earlier place, the front knows nothing."""
        front, get = self._front, self._backend.get
        while (place := front.first()) is not None and get(place) is None:
            front.pop()
        return place


def _place(time: int, key: bytes) -> bytes:
    return _INDEX + _order.pack(time + _ZERO) + key


class Expired(NamedTuple):
    """A row that is gone, and when its time was up."""

    key: Any
    value: Any
    timestamp: int


class Expiry:
    """What a store with a time to live offers to the task around it."""

    __slots__ = ("_decode", "_key_from", "_log", "_rows", "ttl")

    def __init__(
        self,
        rows: ExpiringRows,
        ttl: int,
        key_from: Callable[[bytes], Any],
        decode: Callable[[bytes], Any],
        changelog: Changelog | None,
    ) -> None:
        self._rows = rows
        self._key_from = key_from
        self._decode = decode
        self._log = changelog
        self.ttl = ttl

    @property
    def due(self) -> int:
        """At a time not later than this, nothing runs out. It may be too early, never too late."""
        return self._rows.earliest + self.ttl

    def expire(self, time: int) -> list[Expired]:
        """Remove and return the rows whose timestamp is more than the time to live ago, the oldest first."""
        key_from, decode, log, gone = self._key_from, self._decode, self._log, []
        for timestamp, key, stamped in self._rows.take(time - self.ttl):
            until = timestamp + self.ttl
            if log is not None:
                log(key, None, until)
            gone.append(Expired(key_from(key), decode(stamped[8:]), until))
        return gone

    def forget(self) -> None:
        """The store has gone back to an earlier state: look again."""
        self._rows.forget()
