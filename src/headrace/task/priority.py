"""A heap that takes equal entries in the order in which Java's `PriorityQueue` takes them.

`heapq` has another way to close the gap that the first entry leaves, so that of three equal ones it would take the
second where Java takes the third.
"""

from __future__ import annotations

from typing import Protocol, TypeVar


class Due(Protocol):
    """What is ordered."""

    due: int


D = TypeVar("D", bound=Due)


def push(heap: list[D], entry: D) -> None:
    """Add one at the end, and let it rise as long as it is earlier than the one above."""
    place = len(heap)
    heap.append(entry)
    while place > 0:
        parent = (place - 1) >> 1
        if entry.due >= heap[parent].due:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = entry


def pop(heap: list[D]) -> D:
    """Take the first, and let the last one sink from its place as long as one below is earlier."""
    first, last = heap[0], heap.pop()
    size = len(heap)
    if not size:
        return first
    place = 0
    while place < size >> 1:
        child = 2 * place + 1
        if child + 1 < size and heap[child].due > heap[child + 1].due:
            child += 1
        if last.due <= heap[child].due:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last
    return first


def is_heap(heap: list[D]) -> bool:
    """Whether none is earlier than the one above it."""
    return all(heap[(place - 1) >> 1].due <= heap[place].due for place in range(1, len(heap)))
