"""A backend in the memory of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headrace.state.backend import Entry, Marks
from headrace.state.index import KeyIndex


class MemoryBackend:
    """A dict, with its keys in order for those who ask for a range.

    >>> backend = MemoryBackend()
    >>> backend.put(b"b", b"2")
    >>> backend.put(b"a", b"1")
    >>> list(backend.range(b"a", None))
    [(b'a', b'1'), (b'b', b'2')]
    """

    __slots__ = ("_data", "_index", "get", "marks", "put")

    get: Callable[[bytes], bytes | None]
    put: Callable[[bytes, bytes], None]

    def __init__(self) -> None:
        self._data: dict[bytes, bytes] = {}
        self._index = KeyIndex(self._data)
        self.marks = Marks()
        self.get = self._data.get
        self.put = self._data.__setitem__

    def put_many(self, entries: Iterable[Entry]) -> None:
        """Put each (key, value)."""
        self._data.update(entries)

    def delete(self, key: bytes, /) -> None:
        """Remove an entry, if it is there."""
        if key in self._data:
            self._index.discard(key)
            del self._data[key]

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[Entry]:
        """The entries with low <= key < high, as they are now."""
        data = self._data
        keys = self._index.slice(low, high)
        if reverse:
            keys.reverse()
        return iter([(key, data[key]) for key in keys])

    def count(self) -> int:
        """How many entries there are."""
        return len(self._data)

    def first(self, low: bytes, high: bytes) -> bytes | None:
        """The lowest key with low <= key < high."""
        return self._index.first(low, high)

    def truncate(self, floor: int, before: bytes) -> None:
        """Delete the entries below the key `before`."""
        self.marks.floor = floor
        for key in self._index.cut(before):
            del self._data[key]
