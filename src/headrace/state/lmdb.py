"""A backend on LMDB: this batch's changes in a dict, over a read snapshot of the last commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headrace.state.backend import Entry, Marks
from headrace.state.index import KeyIndex
from headrace.state.merge import merged
from headrace.state.table import Table

# Values read in a batch are kept for reading them again, up to this many.
_MOST_SEEN = 200_000


class Overlay(dict[bytes, bytes | None]):
    """Changes of this batch (None: deleted). A key that is not here is looked up below, and remembered."""

    __slots__ = ("_read", "seen")

    def __init__(self, read: Callable[[bytes], bytes | None]) -> None:
        super().__init__()
        self._read = read
        self.seen: dict[bytes, bytes | None] = {}

    def __missing__(self, key: bytes) -> bytes | None:
        seen = self.seen
        try:
            return seen[key]
        except KeyError:
            value = self._read(key)
            if len(seen) >= _MOST_SEEN:
                seen.clear()
            seen[key] = value
            return value


class LmdbBackend:
    """One store on disk. Nothing is written before the owner of the environment commits.

    `get` and `put` are the overlay's own methods: a key that this batch has touched costs one dict lookup.
    """

    __slots__ = ("_index", "base_marks", "get", "marks", "overlay", "put", "table")

    get: Callable[[bytes], bytes | None]
    put: Callable[[bytes, bytes], None]

    def __init__(self, table: Table) -> None:
        self.table = table
        self.overlay = Overlay(table.get)
        self._index = KeyIndex(self.overlay)
        self.marks = Marks()
        self.base_marks = Marks()
        self.get = self.overlay.__getitem__
        self.put = self.overlay.__setitem__

    def put_many(self, entries: Iterable[Entry]) -> None:
        """Put each (key, value)."""
        self.overlay.update(entries)

    def delete(self, key: bytes, /) -> None:
        """Remove an entry, if it is there."""
        self.overlay[key] = None

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[Entry]:
        """The entries with low <= key < high, as they are now."""
        below = self.table.range(low, high, reverse)
        keys = self._index.slice(low, high) if self.overlay else []
        if not keys:
            return below
        overlay = self.overlay
        if reverse:
            keys.reverse()
        # The values are taken now: what is put later does not show in an iterator made before.
        mine = [(key, overlay[key]) for key in keys]
        return merged(mine, below, reverse)

    def count(self) -> int:
        """How many entries there are; a bucket of long keys on disk counts as one."""
        known = self.table.get
        seen = self.overlay.seen
        total = self.table.count()
        for key, value in self.overlay.items():
            old = seen[key] if key in seen else known(key)
            total += (value is not None) - (old is not None)
        return total

    def first(self, low: bytes, high: bytes) -> bytes | None:
        """The lowest key with low <= key < high."""
        overlay, mine = self.overlay, self._index.first(low, high)
        while mine is not None and overlay[mine] is None:
            mine = self._index.first(mine + b"\0", high)
        for key, _ in self.table.range(low, mine or high):
            if key not in overlay:
                return key
        return mine

    def truncate(self, floor: int, before: bytes) -> None:
        """Forget this batch's changes below `before`; entries on disk go after the next commit (see `write`)."""
        self.marks.floor = floor
        if self.overlay:
            for key in self._index.cut(before):
                del self.overlay[key]

    def changed(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.overlay) or self.marks != self.base_marks

    def reset(self, marks: Marks) -> None:
        """Drop this batch's changes; the marks are those on disk."""
        self.overlay.clear()
        self.overlay.seen.clear()
        self._index.clear()
        self.marks.take(marks)
        self.base_marks = marks
