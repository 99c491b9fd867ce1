"""One store's entries in an LMDB database: how keys of any length fit, and how they are read in order.

LMDB takes keys of 1 to 511 bytes. Every key gets one byte in front (so an empty one has a place, and marks have
theirs). A key of more than 500 bytes goes into a bucket under its first 501 bytes; the bucket's value is a list
of (rest of the key, value), by rest. No key of 501 bytes is stored as it is, so nothing collides and the order
of the bytes is kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from operator import itemgetter
from struct import Struct
from typing import Any, Final

import lmdb
import msgspec

from headrace.errors import StoreError
from headrace.state.backend import Entry, Marks

KEY: Final = b"\x01"
MARKS: Final = b"\x00marks"
LONGEST: Final = 500
_END: Final = b"\x02"
_BUCKET: Final = LONGEST + 1

DAMAGE: Final = (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError)
"""What LMDB says of a file in which something cannot be right."""

_marks = Struct(">qqq")
_bucket = msgspec.msgpack.Decoder(list[tuple[bytes, bytes]])
_rest = itemgetter(0)


def pack_marks(marks: Marks) -> bytes:
    """Marks as they are stored."""
    return _marks.pack(marks.stream_time, marks.floor, marks.sequence)


def unpack_marks(raw: bytes | None) -> Marks:
    """Stored marks; fresh ones when there are none."""
    return Marks() if raw is None else Marks(*_marks.unpack(raw))


def unpack_bucket(raw: bytes | None) -> list[tuple[bytes, bytes]]:
    """The (rest, value) pairs of a bucket."""
    return [] if raw is None else _bucket.decode(raw)


def change_bucket(raw: bytes | None, changes: list[tuple[bytes, bytes | None]]) -> bytes | None:
    """A bucket after changes of (whole key, value or None); None when nothing is left."""
    entries = dict(unpack_bucket(raw))
    for key, value in changes:
        if value is None:
            entries.pop(key[_BUCKET:], None)
        else:
            entries[key[_BUCKET:]] = value
    return msgspec.msgpack.encode(sorted(entries.items(), key=_rest)) if entries else None


def place(key: bytes) -> bytes:
    """The LMDB key under which a key, or the bucket it belongs to, is stored."""
    return KEY + key[:_BUCKET]


class Table:
    """Reads one store's entries in a read transaction that its owner binds, now or when it is first needed."""

    __slots__ = ("_bind", "_distrust", "db", "name", "txn")

    def __init__(
        self, name: str, bind: Callable[[], None], distrust: Callable[[Exception], StoreError]
    ) -> None:
        self.name = name
        self._bind = bind
        self._distrust = distrust
        self.db: Any = None
        self.txn: Any = None

    def is_there(self) -> bool:
        """Whether there is a database to read from; to a reader it may not exist yet."""
        if self.txn is None:
            self._bind()
        return self.txn is not None and self.db is not None

    def get(self, key: bytes, /) -> bytes | None:
        """The value of a key."""
        if len(key) > LONGEST:
            return self._get_long(key)
        try:
            found: bytes | None = self.txn.get(KEY + key, None, self.db)
        except AttributeError:
            self._bind()
            return self.get(key)
        except lmdb.Error as error:
            raise self._distrust(error) from error
        return found

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[Entry]:
        """The entries with low <= key < high."""
        if self.txn is None:
            self._bind()
        cursor = self.txn.cursor(self.db)
        return self._backward(cursor, low, high) if reverse else self._forward(cursor, low, high)

    def read_marks(self) -> Marks:
        """The marks as of this transaction."""
        if self.txn is None:
            self._bind()
        return unpack_marks(self.txn.get(MARKS, None, self.db))

    def count(self) -> int:
        """The number of LMDB entries but for the marks; a bucket of long keys counts as one."""
        if self.txn is None:
            self._bind()
        entries: int = self.txn.stat(self.db)["entries"]
        return entries - (self.txn.get(MARKS, None, self.db) is not None)

    def _get_long(self, key: bytes) -> bytes | None:
        if self.txn is None:
            self._bind()
        bucket = unpack_bucket(self.txn.get(place(key), None, self.db))
        rest = key[_BUCKET:]
        at = bisect_left(bucket, rest, key=_rest)
        return bucket[at][1] if at < len(bucket) and bucket[at][0] == rest else None

    def _forward(self, cursor: Any, low: bytes | None, high: bytes | None) -> Iterator[Entry]:
        try:
            if not cursor.set_range(KEY if low is None else place(low)):
                return
            for stored, value in cursor.iternext():
                if len(stored) > _BUCKET:
                    prefix = stored[1:]
                    for rest, inner in unpack_bucket(value):
                        key = prefix + rest
                        if (low is None or key >= low) and (high is None or key < high):
                            yield key, inner
                    if high is not None and prefix >= high:
                        return
                    continue
                key = stored[1:]
                if high is not None and key >= high:
                    return
                yield key, value
        except lmdb.Error as error:
            raise (self._distrust(error) if isinstance(error, DAMAGE) else self._outlived()) from error
        finally:
            cursor.close()

    def _backward(self, cursor: Any, low: bytes | None, high: bytes | None) -> Iterator[Entry]:
        try:
            # Step to the last entry that may hold a key below `high`; a bucket is looked into even if its
            # first 501 bytes equal those of `high`.
            start = _END if high is None else place(high)
            if not cursor.set_range(start):
                found = cursor.last()
            elif high is not None and len(start) > _BUCKET and cursor.key() == start:
                found = True
            else:
                found = cursor.prev()
            if not found:
                return
            for stored, value in cursor.iterprev():
                if stored[:1] != KEY:
                    return
                key = stored[1:]
                if len(stored) > _BUCKET:
                    for rest, inner in reversed(unpack_bucket(value)):
                        whole = key + rest
                        if (low is None or whole >= low) and (high is None or whole < high):
                            yield whole, inner
                    if low is not None and key < low[:_BUCKET]:
                        return
                    continue
                if low is not None and key < low:
                    return
                yield key, value
        except lmdb.Error as error:
            raise (self._distrust(error) if isinstance(error, DAMAGE) else self._outlived()) from error
        finally:
            cursor.close()

    def _outlived(self) -> StoreError:
        return StoreError(
            f"an iterator over store `{self.name}` was used after its batch: read it to the end, or make a new one"
        )
