"""The keys of a dict in byte order, sorted only when somebody asks for a range."""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import islice
from typing import Any

_BLOCK = 512


class KeyIndex:
    """Follows a dict lazily: a dict keeps its keys in order of insertion, so the new ones are at its end.

    Reads and writes of single keys thus cost nothing extra. Keys must leave the dict through `discard` or
    `cut` only (or all at once, see `clear`).
    """

    __slots__ = ("_blocks", "_data", "_known", "_lasts")

    def __init__(self, data: dict[bytes, Any]) -> None:
        self._data = data
        self.clear()

    def clear(self) -> None:
        """Forget all keys, when the dict was cleared."""
        self._blocks: list[list[bytes]] = []
        self._lasts: list[bytes] = []
        self._known = 0

    def slice(self, low: bytes | None, high: bytes | None) -> list[bytes]:
        """The keys with low <= key < high, in order."""
        self._sync()
        blocks, lasts = self._blocks, self._lasts
        if not blocks or (low is not None and high is not None and low >= high):
            return []
        first = 0 if low is None else bisect_left(lasts, low)
        if first == len(blocks):
            return []
        last = len(blocks) - 1 if high is None else min(bisect_left(lasts, high), len(blocks) - 1)
        start = 0 if low is None else bisect_left(blocks[first], low)
        stop = len(blocks[last]) if high is None else bisect_left(blocks[last], high)
        if first == last:
            return blocks[first][start:stop]
        keys = blocks[first][start:]
        for block in blocks[first + 1 : last]:
            keys += block
        keys += blocks[last][:stop]
        return keys

    def first(self, low: bytes, high: bytes) -> bytes | None:
        """The lowest key with low <= key < high."""
        self._sync()
        at = bisect_left(self._lasts, low)
        if at == len(self._blocks):
            return None
        block = self._blocks[at]
        found = block[bisect_left(block, low)]
        return found if found < high else None

    def discard(self, key: bytes) -> None:
        """Forget a key, before it is taken out of the dict."""
        if not self._known:
            return
        self._sync()
        at = bisect_left(self._lasts, key)
        block = self._blocks[at]
        del block[bisect_left(block, key)]
        self._known -= 1
        self._settle(at)

    def cut(self, before: bytes) -> list[bytes]:
        """Forget the keys below `before`, and return them: the caller takes them out of the dict."""
        keys = self.slice(None, before)
        whole = bisect_left(self._lasts, before)
        del self._blocks[:whole], self._lasts[:whole]
        if self._blocks:
            block = self._blocks[0]
            del block[: bisect_left(block, before)]
            self._settle(0)
        self._known -= len(keys)
        return keys

    def _settle(self, at: int) -> None:
        block = self._blocks[at]
        if block:
            self._lasts[at] = block[-1]
        else:
            del self._blocks[at], self._lasts[at]

    def _sync(self) -> None:
        total = len(self._data)
        new = total - self._known
        if not new:
            return
        if new > 64 and new * 8 > self._known:
            keys = sorted(self._data)
            self._blocks = [keys[i : i + _BLOCK] for i in range(0, total, _BLOCK)]
            self._lasts = [block[-1] for block in self._blocks]
        else:
            for key in islice(reversed(self._data), new):
                self._insert(key)
        self._known = total

    def _insert(self, key: bytes) -> None:
        blocks, lasts = self._blocks, self._lasts
        if not blocks:
            blocks.append([key])
            lasts.append(key)
            return
        at = min(bisect_left(lasts, key), len(blocks) - 1)
        block = blocks[at]
        insort(block, key)
        if len(block) > 2 * _BLOCK:
            blocks.insert(at + 1, block[_BLOCK:])
            lasts.insert(at + 1, block[-1])
            del block[_BLOCK:]
        lasts[at] = block[-1]
