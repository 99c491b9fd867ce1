"""The buffer of `suppress`: at most one update per key, in order of time.

On disk or in memory, an update is kept under its key, and its key once more under its place in time; one entry has the
totals. A key keeps its place in time while its update is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any, Final, Generic, TypeVar

from headrace.record import Change, Headers, RecordMetadata
from headrace.serdes.base import Serde
from headrace.state.backend import Backend, NoBackend
from headrace.state.base import Changelog, StateStore, no_time
from headrace.state.buffered import (
    Buffered,
    pack_context,
    pack_time,
    pack_update,
    prior_of,
    resident_size,
    time_of,
    unpack_update,
)
from headrace.state.front import Front

K = TypeVar("K")
V = TypeVar("V")

_TOTALS_KEY: Final = b"\x00"
_PLACE: Final = b"\x01"
_UPDATE: Final = b"\x02"
_TIME_END: Final = 1 + 8
_totals = Struct(">qq")

NOT_BUFFERED: Final = object()
"""Nothing of this key is held back."""


class SuppressionBuffer(StateStore[K], Generic[K, V]):
    """Updates that wait.

    >>> from headrace.state import memory_store
    >>> buffer = memory_store("waiting", "suppression_buffer", key=str, value=int)
    >>> buffer.put(20, "a", Change(1, None), 20, (), None)
    >>> buffer.put(10, "b", Change(5, 4), 10, (), None)
    >>> list(buffer.all()), buffer.num_records
    ([('b', Change(new=5, old=4, is_latest=True)), ('a', Change(new=1, old=None, is_latest=True))], 2)
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
        self._value_serde = value
        self._encode, self._decode = value.serialize, value.deserialize
        self._log = changelog
        self._now = now
        self._changed: dict[bytes, None] = {}
        self._front = Front(backend, _PLACE, _UPDATE)
        self.forget = self._front.forget
        """The task went back to an earlier state: what is known of the entries' order does not hold any more."""

    @property
    def num_records(self) -> int:
        """How many keys have an update that waits."""
        return _read_totals(self._backend)[0]

    @property
    def buffer_size(self) -> int:
        """How many bytes that takes, as Kafka Streams estimates it."""
        return _read_totals(self._backend)[1]

    def min_timestamp(self) -> int | None:
        """The first place in time; None when nothing waits."""
        first = self._front.first()
        return None if first is None else int.from_bytes(first[1:_TIME_END], "big", signed=True)

    def put(
        self,
        time: int,
        key: K,
        change: Change[V] | tuple[V | None, V | None, bool],
        timestamp: int,
        headers: Headers,
        metadata: RecordMetadata | None,
    ) -> None:
        """Hold an update back, in place of one of the same key."""
        raw_key = self._raw_key(key)
        new, old = self._raw_value(change[0]), self._raw_value(change[1])
        found = self._backend.get(_UPDATE + raw_key)
        prior = old
        if found is not None:
            prior, time = prior_of(found), time_of(found)
        update = pack_update(pack_context(timestamp, headers, metadata), prior, old, new, time)
        if _replace(self._backend, raw_key, found, update):
            self._front.add(_PLACE + pack_time(time) + raw_key)
        self._changed[raw_key] = None

    def first(self) -> tuple[K, Change[V], Buffered]:
        """The update that has waited longest: key, values, and the record it came from. There must be one."""
        place = self._front.first()
        assert place is not None
        raw_key = place[_TIME_END:]
        update = unpack_update(self._backend.get(_UPDATE + raw_key) or b"")
        return self._key_from(raw_key), self._change(update), update

    def remove_first(self) -> None:
        """Forget the update that has waited longest."""
        place = self._front.first()
        assert place is not None
        raw_key = place[_TIME_END:]
        self._front.pop()
        _replace(self._backend, raw_key, self._backend.get(_UPDATE + raw_key), None)
        self._changed[raw_key] = None

    def flush(self) -> None:
        """Log every key that was changed since the last call, as it is now."""
        changed, log = self._changed, self._log
        if log is not None:
            now = self._now()
            for raw_key in changed:
                log(raw_key, self._backend.get(_UPDATE + raw_key), now)
        changed.clear()

    def prior(self, key: K) -> Any:
        """The value that a key had before the first update that waits, or NOT_BUFFERED."""
        found = self._backend.get(_UPDATE + self._raw_key(key))
        if found is None:
            return NOT_BUFFERED
        raw = prior_of(found)
        return None if raw is None else self._decode(raw)

    def all(self) -> Iterator[tuple[K, Change[V]]]:
        """What waits, in the order in which it will leave."""
        for place, _ in self._backend.range(_PLACE, _UPDATE):
            raw_key = place[_TIME_END:]
            update = unpack_update(self._backend.get(_UPDATE + raw_key) or b"")
            yield self._key_from(raw_key), self._change(update)

    def apply_changelog(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        """Does what a changelog record says, without logging it."""
        self.forget()
        replay_suppression(self._backend)(key, value, timestamp)

    def close(self) -> None:
        """End the store's life; every later use raises StoreError."""
        super().close()
        self._backend = NoBackend(self._closed())
        self._front = Front(self._backend, _PLACE, _UPDATE)

    def _change(self, update: Buffered) -> Change[V]:
        decode = self._decode
        new = None if update.new is None else decode(update.new)
        return Change(new, None if update.old is None else decode(update.old))

    def _raw_value(self, value: V | None) -> bytes | None:
        if value is None:
            return None
        try:
            return self._encode(value)
        except Exception as error:
            raise self._bad_value(self._value_serde, value, error) from error


def replay_suppression(backend: Backend) -> Changelog:
    """For suppression buffers. A key that left and came back between two records takes its new place."""

    def apply(key: bytes, value: bytes | None, timestamp: int) -> None:
        _replace(backend, key, backend.get(_UPDATE + key), value)

    return apply


def _replace(backend: Backend, key: bytes, old: bytes | None, new: bytes | None) -> bool:
    """Put `new` in the place of `old`, or delete it; whether the key has got a place in time that it had not."""
    records, size = _read_totals(backend)
    if old is not None:
        records, size = records - 1, size - resident_size(key, old)
    if new is None:
        backend.delete(_UPDATE + key)
    else:
        backend.put(_UPDATE + key, new)
        records, size = records + 1, size + resident_size(key, new)
    backend.put(_TOTALS_KEY, _totals.pack(records, size))
    before, after = None if old is None else old[-8:], None if new is None else new[-8:]
    if before == after:
        return False
    if before is not None:
        backend.delete(_PLACE + before + key)
    if after is not None:
        backend.put(_PLACE + after + key, b"")
    return after is not None


def _read_totals(backend: Backend) -> tuple[int, int]:
    raw = backend.get(_TOTALS_KEY)
    return (0, 0) if raw is None else _totals.unpack(raw)
