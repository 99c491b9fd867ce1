"""Stores as a test sees them: timestamped ones may be read and written with plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from headrace.record import Windowed
from headrace.state import TimestampedKeyValueStore, TimestampedWindowStore, ValueAndTimestamp

NO_TIMESTAMP = -1
"""What a plain `put` leaves in a timestamped store, as in Kafka Streams."""


def _stamped(value: Any) -> ValueAndTimestamp[Any] | None:
    return None if value is None else ValueAndTimestamp(value, NO_TIMESTAMP)


def _plain(found: ValueAndTimestamp[Any] | None) -> Any:
    return None if found is None else found.value


class PlainKeyValues:
    """A timestamped key-value store without the timestamps."""

    def __init__(self, inner: TimestampedKeyValueStore[Any, Any]) -> None:
        self._inner = inner
        self.name = inner.name

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        return _plain(self._inner.get(key))

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key, without a timestamp; None removes it."""
        self._inner.put(key, _stamped(value))

    def put_if_absent(self, key: Any, value: Any) -> Any:
        """Put the value unless the key has one; returns the one it had."""
        return _plain(self._inner.put_if_absent(key, _stamped(value)))

    def put_all(self, entries: Iterable[tuple[Any, Any]]) -> None:
        """Put each (key, value)."""
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: Any) -> Any:
        """Remove a key; returns the value it had."""
        return _plain(self._inner.delete(key))

    def range(self, low: Any = None, high: Any = None) -> Iterator[tuple[Any, Any]]:
        """The entries with low <= key <= high, in the order of the keys' bytes."""
        return _plain_pairs(self._inner.range(low, high))

    def reverse_range(self, low: Any = None, high: Any = None) -> Iterator[tuple[Any, Any]]:
        """`range`, from the highest key down."""
        return _plain_pairs(self._inner.reverse_range(low, high))

    def all(self) -> Iterator[tuple[Any, Any]]:
        """Every entry, in the order of the keys' bytes."""
        return _plain_pairs(self._inner.all())

    def reverse_all(self) -> Iterator[tuple[Any, Any]]:
        """Every entry, from the highest key down."""
        return _plain_pairs(self._inner.reverse_all())

    def prefix_scan(
        self, prefix: Any, serialize: Callable[[Any], bytes] | None = None
    ) -> Iterator[tuple[Any, Any]]:
        """The entries whose key's bytes begin with the prefix."""
        return _plain_pairs(self._inner.prefix_scan(prefix, serialize))

    def approximate_num_entries(self) -> int:
        """About how many entries there are."""
        return self._inner.approximate_num_entries()


class PlainWindows:
    """A timestamped window store without the timestamps."""

    def __init__(self, inner: TimestampedWindowStore[Any, Any]) -> None:
        self._inner = inner
        self.name = inner.name

    if not TYPE_CHECKING:  # a type checker knows by itself what there is

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(
                f"a window store has no `{name}`: read it with `fetch(key, window_start)`, `fetch(key, from, to)` or "
                "`all()`"
            )

    def put(self, key: Any, value: Any, window_start: int) -> None:
        """Set the value of a window, without a timestamp; None removes it."""
        self._inner.put(key, _stamped(value), window_start)

    def fetch(self, key: Any, time_from: int, time_to: int | None = None) -> Any:
        """The value of one window, or (start, value) of those between two times."""
        if time_to is None:
            return _plain(self._inner.fetch(key, time_from))
        return _plain_pairs(self._inner.fetch(key, time_from, time_to))

    def backward_fetch(self, key: Any, time_from: int, time_to: int) -> Iterator[tuple[int, Any]]:
        """`fetch` with two times, from the latest window back."""
        return _plain_pairs(self._inner.backward_fetch(key, time_from, time_to))

    def fetch_range(
        self, key_from: Any, key_to: Any, time_from: int, time_to: int
    ) -> Iterator[tuple[Windowed[Any], Any]]:
        """The windows of all keys from one to another between two times."""
        return _plain_pairs(self._inner.fetch_range(key_from, key_to, time_from, time_to))

    def backward_fetch_range(
        self, key_from: Any, key_to: Any, time_from: int, time_to: int
    ) -> Iterator[tuple[Windowed[Any], Any]]:
        """`fetch_range`, backwards."""
        return _plain_pairs(self._inner.backward_fetch_range(key_from, key_to, time_from, time_to))

    def fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Windowed[Any], Any]]:
        """The windows of all keys between two times."""
        return _plain_pairs(self._inner.fetch_all(time_from, time_to))

    def backward_fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Windowed[Any], Any]]:
        """`fetch_all`, backwards."""
        return _plain_pairs(self._inner.backward_fetch_all(time_from, time_to))

    def all(self) -> Iterator[tuple[Windowed[Any], Any]]:
        """Every window."""
        return _plain_pairs(self._inner.all())

    def backward_all(self) -> Iterator[tuple[Windowed[Any], Any]]:
        """Every window, backwards."""
        return _plain_pairs(self._inner.backward_all())


def _plain_pairs(pairs: Iterable[tuple[Any, ValueAndTimestamp[Any]]]) -> Iterator[tuple[Any, Any]]:
    return ((key, found.value) for key, found in pairs)


def plain(store: Any) -> Any:
    """The store with plain values."""
    if isinstance(store, TimestampedKeyValueStore):
        return PlainKeyValues(store)
    if isinstance(store, TimestampedWindowStore):
        return PlainWindows(store)
    return store
