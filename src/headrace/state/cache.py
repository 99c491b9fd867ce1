"""The record cache: the last value per key since the last flush, for all stores of one task together (KIP-63).

Bytes are counted, and stores evict, as in Kafka Streams: a store that takes the cache over its limit gives up what it
has not used for longest. Evicting an entry that was not flushed yet flushes all of that store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeAlias

from headrace.record import NO_HEADERS, Headers
from headrace.state.index import KeyIndex


class Mark(NamedTuple):
    """Which record made a change: what a flush goes back to."""

    time: int
    headers: Headers
    topic: str
    place: object
    """Known to the task alone."""


class Moment(Protocol):
    """The record at hand."""

    time: int

    def mark(self) -> Mark: ...

    def go_to(self, mark: Mark) -> None: ...


Write: TypeAlias = Callable[[bytes, bytes | None, Mark, bool], None]
"""Takes a flushed entry: key, value (None: deleted), the record that made it, and whether it was heard of before."""

_NOBODY = Mark(-1, NO_HEADERS, "", None)
_NODE = 24
_RECORD = 21


class Cached:
    """One entry; it is dirty until it was flushed. `value` None: deleted. `heard`: somebody else looked it up while
    another store was evicting, and so made something of a value that is not flushed yet.
    """

    __slots__ = ("dirty", "heard", "mark", "size", "value")

    def __init__(self, key: bytes, value: bytes | None, mark: Mark, dirty: bool) -> None:
        self.value = value
        self.mark = mark
        self.dirty = dirty
        self.heard = False
        self.size = _NODE + len(key) + _RECORD + len(mark.topic) + (0 if value is None else len(value))
        for name, data in mark.headers:
            self.size += len(name) + (0 if data is None else len(data))


class RecordCache:
    """What the caches of all stores share: the limit and the count of bytes.

    >>> RecordCache(1000).size
    0
    """

    __slots__ = ("evicting", "limit", "size")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self.evicting = 0


class NamedCache:
    """The entries of one store. Read and written by key; `flush` hands what is dirty to `write`."""

    __slots__ = ("_dirty", "_entries", "_index", "_moment", "_order", "_shared", "size", "write")

    def __init__(self, shared: RecordCache, moment: Moment, write: Write) -> None:
        self._shared = shared
        self._moment = moment
        self.write = write
        self._entries: dict[bytes, Cached] = {}
        self._index = KeyIndex(self._entries)
        self._order: OrderedDict[bytes, None] = OrderedDict()
        """Keys by last use, the oldest first."""
        self._dirty: dict[bytes, None] = {}
        """Keys to flush, in the order of their last change."""
        self.size = 0

    def get(self, key: bytes) -> Cached | None:
        """An entry, which thereby was used."""
        entry = self._entries.get(key)
        if entry is not None:
            self._order.move_to_end(key)
            if self._shared.evicting:
                entry.heard = entry.dirty
        return entry

    def put(self, key: bytes, value: bytes | None) -> None:
        """Change an entry (None: delete it); may evict others, and so write."""
        self._dirty.pop(key, None)
        self._dirty[key] = None
        entry, before = Cached(key, value, self._moment.mark(), True), self._entries.get(key)
        entry.heard = before is not None and before.heard
        self._set(key, entry)

    def keep(self, key: bytes, value: bytes) -> None:
        """Remember what was read."""
        self._set(key, Cached(key, value, _NOBODY, False))

    def range(
        self, low: bytes | None, high: bytes | None, reverse: bool
    ) -> Iterator[tuple[bytes, bytes | None]] | None:
        """The entries with low <= key < high as they are now, in the order of the keys; None stands for deleted ones.
        An entry is used when it is reached. None if there are none.
        """
        if not self._entries:
            return None
        keys = self._index.slice(low, high)
        if reverse:
            keys.reverse()
        entries = self._entries
        return self._using([(key, entries[key].value) for key in keys]) if keys else None

    def _using(self, found: list[tuple[bytes, bytes | None]]) -> Iterator[tuple[bytes, bytes | None]]:
        order = self._order
        for entry in found:
            if entry[0] in order:  # else it was evicted meanwhile, and its value is still that of the range
                order.move_to_end(entry[0])
            yield entry

    def flush(self) -> None:
        """Write what is dirty; it stays here to be read."""
        before = self.size
        self._flush(None)
        self._shared.size += self.size - before

    def clear(self) -> None:
        """Forget everything: the task goes back to an older state, or another process may have written."""
        self._shared.size -= self.size
        self.size = 0
        self._entries.clear()
        self._index.clear()
        self._order.clear()
        self._dirty.clear()

    def _set(self, key: bytes, entry: Cached) -> None:
        before = self.size
        old = self._entries.get(key)
        if old is not None:
            self.size -= old.size
        self._entries[key] = entry
        self._order[key] = None
        self._order.move_to_end(key)
        self.size += entry.size
        shared = self._shared
        shared.size += self.size - before
        while shared.size > shared.limit and self._entries:
            before = self.size
            self._evict()
            shared.size += self.size - before

    def _evict(self) -> None:
        key = next(iter(self._order))
        entry = self._entries[key]
        self._remove(key)
        if entry.dirty:
            self._shared.evicting += 1
            self._flush((key, entry))
            self._shared.evicting -= 1

    def _remove(self, key: bytes) -> None:
        self.size -= self._entries[key].size
        self._index.discard(key)
        del self._entries[key], self._order[key]

    def _flush(self, evicted: tuple[bytes, Cached] | None) -> None:
        if not self._dirty:
            return
        changed: list[tuple[bytes, Cached]] = []
        if evicted is not None:
            changed.append(evicted)
            del self._dirty[evicted[0]]
        for key in self._dirty:
            entry = self._entries[key]
            entry.dirty = False
            changed.append((key, entry))
        # Emptied first: what is written may come back here.
        self._dirty = {}
        write = self.write
        for key, entry in changed:
            write(key, entry.value, entry.mark, entry.heard)
            entry.mark, entry.heard = _NOBODY, False  # a mark would keep the whole batch alive
        for key, entry in changed if evicted is None else changed[1:]:
            if entry.value is None and key in self._entries:
                self._dirty.pop(key, None)
                self._remove(key)
