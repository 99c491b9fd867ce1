"""The first key of a range of keys that grows anywhere and shrinks at its beginning only."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

from headrace.state.backend import Backend

_FILL: Final = 256
_MOST: Final = 4 * _FILL


class Front:
    """Knows some of the first keys between two bounds, so that no record has to look for the very first one.

    The backend alone has all of them. Here are those below a horizon, which moves on when they are used up; so neither
    time nor memory depend on how many there are. What a batch that failed has put here must be forgotten.
    """

    __slots__ = ("_backend", "_heap", "_high", "_horizon", "_low")

    def __init__(self, backend: Backend, low: bytes, high: bytes) -> None:
        self._backend = backend
        self._low = self._horizon = low
        self._high = high
        self._heap: list[bytes] = []

    def first(self) -> bytes | None:
        """The first key; None when there is none."""
        heap = self._heap
        if not heap and self._horizon != self._high:
            self._look()
        return heap[0] if heap else None

    def _look(self) -> None:
        first, heap, place, high = self._backend.first, self._heap, self._horizon, self._high
        while len(heap) < _FILL:
            key = first(place, high)
            if key is None:
                self._horizon = high
                return
            heap.append(key)
            place = key + b"\0"
        self._horizon = place

    def add(self, key: bytes) -> None:
        """A new key was put into the backend."""
        if key < self._horizon:
            heap = self._heap
            heappush(heap, key)
            if len(heap) > _MOST:
                heap.sort()
                del heap[_FILL:]
                self._horizon = heap[-1] + b"\0"

    def pop(self) -> None:
        """The first key is deleted from the backend."""
        heappop(self._heap)

    def forget(self) -> None:
        """The backend went back to an earlier state: look again."""
        self._heap.clear()
        self._horizon = self._low
