"""Final results: windows that are sent on once, when they are closed, in order of time and key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, TypeAlias

from headrace.partitioning import partition_for
from headrace.processors.context import NodeContext
from headrace.record import NO_HEADERS, Headers, Windowed

Place: TypeAlias = tuple[Any, ...]
"""Where a window stands in the order: its time or times, then the bytes of its key."""

END_OF_TIME = 2**63 - 1


class _Open:
    """The windows that were not sent yet. The store alone knows them for sure: this is made from it when it is needed
    first, and again after the task went back to a snapshot, so that no record has to search the store.
    """

    def __init__(self, load: Callable[[], Iterable[tuple[Place, Any]]]) -> None:
        self._load = load
        self._keys: dict[Place, Any] | None = None
        self._order: list[Place] = []

    def add(self, place: Place, key: Any) -> None:
        if self._keys is not None and place not in self._keys:
            self._keys[place] = key
            heappush(self._order, place)

    def take(self, last: int) -> Iterator[tuple[Place, Any]]:
        """Those whose first time is not after `last`, for good."""
        keys = self._known()
        while self._order and self._order[0][0] <= last:
            place = heappop(self._order)
            yield place, keys.pop(place)

    def first(self, is_there: Callable[[Place, Any], bool]) -> Place | None:
        """The first one; those that are no longer there are left out for good."""
        keys = self._known()
        while self._order:
            place = self._order[0]
            if is_there(place, keys[place]):
                return place
            del keys[heappop(self._order)]
        return None

    def _known(self) -> dict[Place, Any]:
        if self._keys is None:
            self._keys = dict(self._load())
            self._order = list(self._keys)
            heapify(self._order)
        return self._keys

    def forget(self) -> None:
        self._keys = None


class FinalWindows:
    """For time windows. `lower` makes the first start to look at out of the closing time of the last look, `upper` the
    last one out of the new closing time; `progress` says whether there can be a window between the two. `closes` makes
    the closing time of a window out of its start; the operator's time is later by `wait`.
    """

    def __init__(
        self,
        ctx: NodeContext,
        store: Any,
        *,
        size: int,
        wait: int,
        lower: Callable[[int], int],
        upper: Callable[[int], int],
        closes: Callable[[int], int],
        progress: Callable[[int, int], bool] = lambda first, last: True,
    ) -> None:
        self._store, self._size, self._wait = store, size, wait
        self._lower, self._upper, self._closes, self._progress = lower, upper, closes, progress
        self._emitted, self._forward = ctx.memory("emitted", -1), ctx.forward
        self._before = ctx.memory("emitted-before", None)
        self._open = _Open(self._stored)
        ctx.at_restore(self._open.forget)

    def updated(self, key: Any, raw_key: bytes, start: int) -> None:
        """A window has a new value."""
        self._open.add((start, raw_key), key)

    def emit(self, headers: Headers, close: int) -> None:
        """Send what the closing time has closed, with the headers of the record at hand."""
        last = self._upper(close)
        if self._emitted.value >= close or last < 0:
            return
        first = self._first()
        if self._emitted.value != -1 and not self._progress(first, last):
            return
        for (start, raw_key), key in self._open.take(last):
            # Too old for the store, or deleted by an aggregator that returned None.
            found = None if start < first else self._value(raw_key, start)
            if found is not None:
                window = Windowed(key, start, start + self._size)
                self._forward(window, (found[0], None, True), found[1], headers)
        self._emitted.value, self._before.value = close, None

    def next_close(self) -> int | None:
        """The operator's time at which the next window is closed."""
        place = self._open.first(self._is_there)
        return None if place is None else self._closes(place[0]) + self._wait

    def close(self, time: int) -> None:
        """Send what is closed by now, without any record."""
        self.emit(NO_HEADERS, time - self._wait)

    def _is_there(self, place: Place, key: Any) -> bool:
        return place[0] >= self._first() and self._value(place[1], place[0]) is not None

    def _value(self, raw_key: bytes, start: int) -> Any:
        """Of a window. After a rescaling those count, too, that are over by the time of another task alone."""
        store = self._store
        return (store.fetch_raw if self._before.value is None else store.kept_raw)(raw_key, start)

    def _first(self) -> int:
        return 0 if self._emitted.value == -1 else self._lower(self._emitted.value)

    def _stored(self) -> Iterator[tuple[Place, Any]]:
        before = self._before.value
        if before is not None:
            for key, raw_key, start in self._store.kept(self._first()):
                if start >= self._unsent(before, raw_key):
                    yield (start, raw_key), key
            return
        encode_key = self._store.encode_key
        for window, _ in self._store.fetch_all(self._first(), END_OF_TIME):
            yield (window.start, encode_key(window.key)), window.key

    def _unsent(self, before: Sequence[int], raw_key: bytes) -> int:
        sent = _sent_by(before, self._store.placing_bytes(raw_key))
        return 0 if sent == -1 else self._lower(sent)


class FinalSessions:
    """For sessions: those that end before the closing time, with their ends as timestamps."""

    def __init__(self, ctx: NodeContext, store: Any, *, wait: int) -> None:
        self._store, self._wait = store, wait
        self._emitted, self._forward = ctx.memory("emitted", -1), ctx.forward
        self._before = ctx.memory("emitted-before", None)
        self._open = _Open(self._stored)
        ctx.at_restore(self._open.forget)

    def updated(self, key: Any, raw_key: bytes, start: int, end: int) -> None:
        """A session has a new value."""
        self._open.add((end, start, raw_key), key)

    def emit(self, headers: Headers, close: int) -> None:
        """Send what the closing time has closed, with the headers of the record at hand."""
        first, last = max(0, self._emitted.value), close - 1
        if self._emitted.value >= close or last < first:
            return
        for (end, start, raw_key), key in self._open.take(last):
            # Absorbed by another session. The retention does not count: Kafka Streams looks into whole segments.
            value = None if end < first else self._store.kept_value(raw_key, start, end)
            if value is not None:
                self._forward(Windowed(key, start, end), (value, None, True), end, headers)
        self._emitted.value, self._before.value = close, None

    def next_close(self) -> int | None:
        """The operator's time at which the next session is closed."""
        place = self._open.first(self._is_there)
        return None if place is None else place[0] + 1 + self._wait

    def close(self, time: int) -> None:
        """Send what is closed by now, without any record."""
        self.emit(NO_HEADERS, time - self._wait)

    def _is_there(self, place: Place, key: Any) -> bool:
        first = max(0, self._emitted.value)
        return place[0] >= first and self._store.fetch_session(key, place[1], place[0]) is not None

    def _stored(self) -> Iterator[tuple[Place, Any]]:
        before = self._before.value
        for key, raw_key, start, end in self._store.kept(max(0, self._emitted.value)):
            if before is None or end >= _sent_by(before, self._store.placing_bytes(raw_key)):
                yield (end, start, raw_key), key


def _sent_by(before: Sequence[int], placing: bytes) -> int:
    """After a rescaling: up to which closing time the task had sent the windows of a key that it was in before."""
    return before[partition_for(placing, len(before))]
