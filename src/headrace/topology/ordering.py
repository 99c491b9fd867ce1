"""The orders in which Java's hash tables and search trees give back what was put in.

Kafka Streams' `describe()` prints nodes from such collections. A text that is to be equal to the letter needs the
same orders, including that of a tree whose elements were compared while their sizes still grew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


def string_hash(text: str) -> int:
    """Java's `String.hashCode`, as an unsigned number.

    >>> string_hash("in1")
    104364
    """
    result = 0
    units = text.encode("utf-16-be")
    for i in range(0, len(units), 2):
        result = (result * 31 + (units[i] << 8 | units[i + 1])) & 0xFFFFFFFF
    return result


def hash_order(names: Iterable[str], *, copied: bool = False) -> list[str]:
    """The order in which a hash set gives the names back; a copied set is sized once instead of grown.

    >>> hash_order(["in1", "in2"])
    ['in2', 'in1']
    """
    unique = list(dict.fromkeys(names))
    size = 16
    if copied:
        while size < int(len(unique) / 0.75) + 1:
            size *= 2
    while len(unique) > size * 0.75:
        size *= 2

    def bucket(name: str) -> int:
        code = string_hash(name)
        return (code ^ code >> 16) & (size - 1)

    return sorted(unique, key=bucket)


class SearchTree(Generic[T]):
    """A red-black tree that asks `before(a, b)` only while it inserts, so that later changes do not move anything."""

    def __init__(self, before: Callable[[T, T], bool]) -> None:
        self._before = before
        self._root: _Leaf[T] | None = None

    def add(self, item: T) -> None:
        """Insert an item that is not there yet."""
        leaf = _Leaf(item)
        above, place = None, self._root
        while place is not None:
            above = place
            place = place.left if self._before(item, place.item) else place.right
        leaf.above = above
        if above is None:
            self._root = leaf
        elif self._before(item, above.item):
            above.left = leaf
        else:
            above.right = leaf
        self._rebalance(leaf)

    def __iter__(self) -> Iterator[T]:
        def walk(leaf: _Leaf[T] | None) -> Iterator[T]:
            if leaf is not None:
                yield from walk(leaf.left)
                yield leaf.item
                yield from walk(leaf.right)

        return walk(self._root)

    def _rebalance(self, leaf: _Leaf[T]) -> None:
        while (parent := leaf.above) is not None and parent.red:
            grand = parent.above
            if grand is None:
                break
            on_left = grand.left is parent
            uncle = grand.right if on_left else grand.left
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                grand.red = True
                leaf = grand
                continue
            if leaf is (parent.right if on_left else parent.left):
                self._rotate(parent, left=on_left)
                leaf, parent = parent, leaf
            parent.red, grand.red = False, True
            self._rotate(grand, left=not on_left)
        if self._root is not None:
            self._root.red = False

    def _rotate(self, leaf: _Leaf[T], *, left: bool) -> None:
        """Turn the leaf down to the left (or right); its other child takes its place."""
        riser = leaf.right if left else leaf.left
        if riser is None:
            return
        moved = riser.left if left else riser.right
        if left:
            leaf.right, riser.left = moved, leaf
        else:
            leaf.left, riser.right = moved, leaf
        if moved is not None:
            moved.above = leaf
        riser.above = leaf.above
        if leaf.above is None:
            self._root = riser
        elif leaf.above.left is leaf:
            leaf.above.left = riser
        else:
            leaf.above.right = riser
        leaf.above = riser


class _Leaf(Generic[T]):
    __slots__ = ("above", "item", "left", "red", "right")

    def __init__(self, item: T) -> None:
        self.item = item
        self.red = True
        self.left: _Leaf[T] | None = None
        self.right: _Leaf[T] | None = None
        self.above: _Leaf[T] | None = None
