"""The buffer of a stream-table join with grace: records in order of time, each under a key of its own.

The keys are those of Kafka Streams: 0 | timestamp (8) | key | number (4); the number tells records of one key and time
apart. The values are those of its changelog, see `buffered`; a place in time is in the key already, so there it is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, Generic, TypeVar

from headrace.record import Headers, Record, RecordMetadata
from headrace.serdes.base import Serde
from headrace.state.backend import Backend, NoBackend
from headrace.state.base import Changelog, StateStore, no_time
from headrace.state.buffered import pack_context, pack_update, unpack_update
from headrace.state.front import Front

K = TypeVar("K")
V = TypeVar("V")

_LOW: Final = b"\x00"
_HIGH: Final = b"\x01"
_head = Struct(">bq")
_number = Struct(">i")
_LAST: Final = 0x7FFFFFFF


class GraceBuffer(StateStore[K], Generic[K, V]):
    """Records that wait for a table to catch up.

    >>> from headrace.state import memory_store
    >>> buffer = memory_store("waiting", "grace_buffer", key=str, value=int)
    >>> buffer.put("b", 1, 20, (), None)
    >>> buffer.put("a", 2, 10, (), None)
    >>> buffer.min_timestamp(), [record.key for record in buffer.all()]
    (10, ['a', 'b'])
    """

    def __init__(
        self,
        name: str,
        backend: Backend,
        key: Serde[K],
        value: Serde[V],
        changelog: Changelog | None = None,
        now: Callable[[], int] = no_time,
    ) -> None:
        super().__init__(name, key)
        self._backend: Backend = backend
        self._marks = backend.marks
        self._value_serde = value
        self._encode, self._decode = value.serialize, value.deserialize
        self._log = changelog
        self._now = now
        self._front = Front(backend, _LOW, _HIGH)
        self.forget = self._front.forget
        """The task went back to an earlier state: what is known of the records' order does not hold any more."""

    def min_timestamp(self) -> int | None:
        """The time of the first record; None when none waits."""
        first = self._front.first()
        return None if first is None else int(_head.unpack_from(first)[1])

    def put(
        self, key: K, value: V, timestamp: int, headers: Headers, metadata: RecordMetadata | None
    ) -> None:
        """Let a record wait."""
        raw_key = self._raw_key(key)
        try:
            raw_value = self._encode(value)
        except Exception as error:
            raise self._bad_value(self._value_serde, value, error) from error
        number = self._marks.sequence = (self._marks.sequence + 1) & _LAST
        place = _head.pack(0, timestamp) + raw_key + _number.pack(number)
        data = pack_update(pack_context(timestamp, headers, metadata), None, None, raw_value, 0)
        self._backend.put(place, data)
        self._front.add(place)
        if self._log is not None:
            self._log(place, data, self._now())

    def first(self) -> tuple[Record[K, V], RecordMetadata | None]:
        """The first record, and where it came from. There must be one."""
        place = self._front.first()
        assert place is not None
        return self._record(place, self._backend.get(place) or b"")

    def remove_first(self) -> None:
        """Forget the first record."""
        place = self._front.first()
        assert place is not None
        self._front.pop()
        self._backend.delete(place)
        if self._log is not None:
            self._log(place, None, self._now())

    def all(self) -> Iterator[Record[K, V]]:
        """What waits, in the order in which it will leave."""
        return (self._record(place, data)[0] for place, data in self._backend.range(_LOW, _HIGH))

    def apply_changelog(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        """Does what a changelog record says, without logging it."""
        self.forget()
        replay_grace(self._backend)(key, value, timestamp)

    def close(self) -> None:
        """End the store's life; every later use raises StoreError."""
        super().close()
        self._backend = NoBackend(self._closed())
        self._marks = self._backend.marks
        self._front = Front(self._backend, _LOW, _HIGH)

    def _record(self, place: bytes, data: bytes) -> tuple[Record[K, V], RecordMetadata | None]:
        update = unpack_update(data)
        key, value = self._key_from(place[9:-4]), self._decode(update.new or b"")
        return Record(key, value, update.timestamp, update.headers), update.metadata


def replay_grace(backend: Backend) -> Changelog:
    """For buffers of joins with grace. New records come behind those of their key and time that wait already."""
    put, delete, marks = backend.put, backend.delete, backend.marks

    def apply(key: bytes, value: bytes | None, timestamp: int) -> None:
        marks.sequence = max(marks.sequence, _number.unpack(key[-4:])[0])
        if value is None:
            delete(key)
        else:
            put(key, value)

    return apply
