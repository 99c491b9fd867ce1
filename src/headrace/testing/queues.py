"""Records that wait in the test driver, topic by topic."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from headrace.record import Headers

RawRecord: TypeAlias = tuple[bytes | None, bytes | None, int, Headers]


class RecordQueues:
    """Hands out the record with the lowest timestamp at the head of its topic.

    Records that a topology sends to itself often have the same timestamp, in several topics at once. Which of them
    comes first then follows from how Kafka Streams keeps its topics: in a heap of Java's, which is built here again.

    >>> queues = RecordQueues()
    >>> queues.add("a", (None, b"1", 5, ()))
    >>> queues.add("b", (None, b"2", 3, ()))
    >>> queues.take(), queues.take(), queues.take()
    (('b', (None, b'2', 3, ())), ('a', (None, b'1', 5, ())), None)
    """

    __slots__ = ("_heap", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[str, deque[RawRecord]] = {}
        self._heap: list[tuple[int, str]] = []
        """The topics that have records, with the timestamp of the first."""

    def add(self, topic: str, record: RawRecord) -> None:
        """Append a record to a topic."""
        queue = self._waiting.get(topic)
        if queue is None:
            queue = self._waiting[topic] = deque()
        queue.append(record)
        if len(queue) == 1:
            if self._heap:
                self._offer(record[2], topic)
            else:
                self._heap.append((record[2], topic))

    def take(self) -> tuple[str, RawRecord] | None:
        """Remove the next record; None when no record waits."""
        heap = self._heap
        if not heap:
            return None
        # Mostly one topic at most has records: no heap is needed then.
        _, topic = heap.pop() if len(heap) == 1 else self._poll()
        queue = self._waiting[topic]
        record = queue.popleft()
        if queue:
            self._offer(queue[0][2], topic)
        return topic, record

    def _offer(self, timestamp: int, topic: str) -> None:
        heap = self._heap
        heap.append((timestamp, topic))
        place = len(heap) - 1
        while place and timestamp < heap[(place - 1) // 2][0]:
            above = (place - 1) // 2
            heap[place] = heap[above]
            place = above
        heap[place] = (timestamp, topic)

    def _poll(self) -> tuple[int, str]:
        """Unlike Python's own heaps, the last entry stops as soon as nothing below it is smaller."""
        heap = self._heap
        first, last = heap[0], heap.pop()
        place, below, size = 0, 1, len(heap)
        while below < size:
            if below + 1 < size and heap[below][0] > heap[below + 1][0]:
                below += 1
            if last[0] <= heap[below][0]:
                break
            heap[place] = heap[below]
            place, below = below, 2 * below + 1
        if size:
            heap[place] = last
        return first
