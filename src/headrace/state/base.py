"""What all stores share: a name, a life, serdes that are looked up once, and a changelog."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from headrace.errors import ClosedStoreError, HeadraceError, SerializationError, StoreError
from headrace.origin import caller
from headrace.record import Headers
from headrace.serdes import explain_write
from headrace.serdes.base import Serde
from headrace.serdes.windowed import WindowedSerde
from headrace.topology.stores import StoreKind

if TYPE_CHECKING:
    from headrace.state.cached import StoreCache

K = TypeVar("K")
V = TypeVar("V")

Changelog: TypeAlias = Callable[[bytes, bytes | None, int], None]
"""Told of every change: key, value (None: deleted) and timestamp, with the bytes of Kafka Streams' changelogs."""

CHANGELOG_HEADERS: Final[Mapping[StoreKind, Headers]] = {"suppression_buffer": (("v", b"\x03"),)}
"""What Kafka Streams wants to find on changelog records (but for deletions) of some kinds of stores."""

_TIMESTAMP = Struct(">q")
pack_timestamp = _TIMESTAMP.pack
"""What a timestamped store has in front of each value."""
unpack_timestamp = _TIMESTAMP.unpack_from


class ValueAndTimestamp(NamedTuple, Generic[V]):
    """A value of a timestamped store, and when it was valid first."""

    value: V
    timestamp: int


def value_only(deserialize: Callable[[bytes], V]) -> Callable[[bytes], V]:
    """Reads the value of a timestamped store and leaves the timestamp out."""

    def decode(raw: bytes) -> V:
        return deserialize(raw[8:])

    return decode


def value_and_timestamp(deserialize: Callable[[bytes], V]) -> Callable[[bytes], ValueAndTimestamp[V]]:
    """Reads a value of a timestamped store."""
    unpack = _TIMESTAMP.unpack_from
    new: Any = tuple.__new__  # a named tuple's own constructor takes three times as long

    def decode(raw: bytes) -> ValueAndTimestamp[V]:
        return new(ValueAndTimestamp, (deserialize(raw[8:]), unpack(raw)[0]))  # type: ignore[no-any-return]

    return decode


def no_time() -> int:
    """The record time of a store that has no task around it."""
    return 0


def nothing() -> Iterator[Any]:
    """An iterator that, like those with rows, has a `close`."""
    yield from ()


def _all_of_it(raw_key: bytes) -> bytes:
    return raw_key


class StateStore(Generic[K]):
    """A name, a life that ends with `close`, and keys that become bytes."""

    def __init__(self, name: str, key: Serde[K]) -> None:
        self.name = name
        self.is_open = True
        self.cache: StoreCache | None = None
        """Set when the store is behind a record cache."""
        self._key_serde = key
        self._key_from = key.deserialize
        self.encode_key: Callable[[K], bytes] = key.serialize
        """Makes the raw key that the `*_raw` methods take; for those who use a key more than once."""
        self.placing_bytes: Callable[[bytes], bytes] = _all_of_it
        """Of a raw key, those bytes that decide its task."""
        if isinstance(key, WindowedSerde):
            self.placing_bytes = key.key_bytes

    def close(self) -> None:
        """End the store's life; every later use raises StoreError. What holds the bytes stays open."""
        self.is_open = False

    def _closed(self) -> str:
        return (
            f"store `{self.name}` is closed: it lives as long as its task or driver; "
            "get it again from the context, or ask before closing"
        )

    def _is_usable(self) -> bool:
        """For iterators, which may outlive their store."""
        if not self.is_open:
            raise ClosedStoreError(self._closed(), origin=caller())
        return True

    def _raw_key(self, key: Any) -> bytes:
        try:
            return self.encode_key(key)
        except Exception as error:
            raise self._bad_key(key, error) from error

    def _bad_key(self, key: Any, error: Exception) -> HeadraceError:
        if key is None:
            return StoreError(f"store `{self.name}` takes no null key")
        return SerializationError(f"store `{self.name}`, key: {explain_write(self._key_serde, key, error)}")

    def _bad_value(self, serde: Serde[Any], value: Any, error: Exception) -> HeadraceError:
        return SerializationError(f"store `{self.name}`, value: {explain_write(serde, value, error)}")

    def _bad_time(self, *times: object) -> HeadraceError:
        got = " to ".join(repr(time) for time in times)
        return StoreError(f"store `{self.name}`: times are milliseconds since the epoch, got {got}")
