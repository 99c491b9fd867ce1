"""What a consumer has brought of one partition, until a reader asks for it."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from headrace.log.base import Chunk, TopicPartition
from headrace.record import NO_HEADERS


class Buffer:
    """Columns that grow at the end and are handed out from the beginning."""

    __slots__ = (
        "_headers",
        "_keys",
        "_offsets",
        "_timestamps",
        "_values",
        "busy",
        "fresh",
        "next",
        "paused",
        "place",
        "seen",
        "used",
        "wanted",
    )

    def __init__(self, place: TopicPartition, start: int) -> None:
        self.place = place
        self.next = start
        """The first offset that has not been handed out."""
        self.seen = start
        """Every record before this offset has arrived (or does not exist)."""
        self.wanted = (start, start)
        self.used = time.monotonic()
        self.busy = False
        self.paused = False
        self.fresh = True
        """Whether nothing was heard of the partition since it was assigned."""
        self._clear()

    def _clear(self) -> None:
        self._offsets: list[int] = []
        self._timestamps: list[int] = []
        self._keys: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._headers: list[Any] = []

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, messages: Sequence[Any]) -> None:
        """Take messages of the partition, in order."""
        offsets = [message.offset() for message in messages]
        self.seen, self.fresh = offsets[-1] + 1, False
        if offsets[0] < self.next:  # the reader has skipped ahead
            place = bisect_left(offsets, self.next)
            offsets, messages = offsets[place:], messages[place:]
        self._offsets += offsets
        self._timestamps += [message.timestamp()[1] for message in messages]
        self._keys += [message.key() for message in messages]
        self._values += [message.value() for message in messages]
        self._headers += [message.headers() for message in messages]

    def skip_to(self, start: int) -> None:
        """Forget what lies before `start`."""
        self._cut(bisect_left(self._offsets, start))
        self.next = start

    def has_all(self, end: int) -> bool:
        """Whether every record before `end` has arrived."""
        return self.seen >= end

    def waiting(self, end: int) -> int:
        """How many records before `end` wait to be handed out."""
        return bisect_left(self._offsets, end)

    def take(self, end: int) -> Chunk | None:
        """Hand out what there is before `end`."""
        count = bisect_left(self._offsets, end)
        self.next = end if self.has_all(end) else self.seen
        if not count:
            return None
        headers = self._headers[:count]
        chunk = Chunk(
            self.place.topic,
            self.place.partition,
            self._offsets[:count],
            self._timestamps[:count],
            self._keys[:count],
            self._values[:count],
            [tuple(row) if row else NO_HEADERS for row in headers] if any(headers) else None,
        )
        self._cut(count)
        return chunk

    def _cut(self, count: int) -> None:
        if count == len(self._offsets):
            self._clear()
        elif count:
            for column in (self._offsets, self._timestamps, self._keys, self._values, self._headers):
                del column[:count]
