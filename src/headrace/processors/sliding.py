"""Aggregates per key and sliding window: a window for every set of records that are close enough to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.finals import FinalWindows
from headrace.processors.idle import IdleClock
from headrace.processors.registry import implements
from headrace.record import Headers, Windowed
from headrace.topology.operators import SlidingAggregate


class _SkippedError(Exception):
    """The record at hand ends here: a callback failed, and the handler said to go on with the next one."""


class _Record:
    """The record at hand and what of its windows is known already."""

    __slots__ = ("before", "close", "headers", "key", "left", "right", "starts", "timestamp", "value")

    def __init__(self, key: Any, value: Any, timestamp: int, headers: Headers, close: int) -> None:
        self.key, self.value, self.timestamp, self.headers = key, value, timestamp, headers
        self.close = close
        """Windows that end before this are closed."""
        self.starts: set[int] = set()
        """Where the windows start that were found."""
        self.left: Any = None
        """What is in its left window without it: a (value, timestamp) as the store has them."""
        self.right: Any = None
        """The same for its right window."""
        self.before: int | None = None
        """The timestamp of the record before it."""


@implements(SlidingAggregate)
def sliding_aggregate(operator: SlidingAggregate, ctx: NodeContext) -> Process:
    """A record at t ends a window (its left one, from t less the difference) and, when later records are there,
    stands right before another (its right one, from t + 1). It also belongs to all windows around it. What a new
    window holds already is the aggregate of a window beside it. Early records share the window that starts at 0.
    """
    windows = operator.windows
    difference, grace = windows.difference_ms, windows.grace_ms
    drop, time = ctx.drop, ctx.memory("stream-time", -1)
    final = _final(operator, ctx) if operator.emit.final else None
    steps = _Steps(operator, ctx, final)

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None or value is None:
            drop("null key or value")
            return
        if timestamp > time.value:
            time.value = timestamp
        close = time.value - grace
        if timestamp + difference < close:
            drop("late")
            return
        record = _Record(key, value, timestamp, headers, close)
        try:
            if timestamp < difference:
                steps.early(record)
                return
            steps.usual(record)
        except _SkippedError:
            return
        if final is not None:
            final.emit(headers, close)

    if final is None or operator.emit.idle_ms is None:
        return process
    return IdleClock(ctx, operator.emit.idle_ms, time, final).around(process)


def _final(operator: SlidingAggregate, ctx: NodeContext) -> FinalWindows:
    difference = operator.windows.difference_ms
    return FinalWindows(
        ctx,
        ctx.store(operator.store),
        size=difference,
        wait=operator.windows.grace_ms,
        lower=lambda last: max(0, last - difference),
        # The end belongs to the window.
        upper=lambda close: close - difference - 1,
        closes=lambda start: start + difference + 1,
    )


class _Steps:
    """What is done to the windows of one record."""

    def __init__(self, operator: SlidingAggregate, ctx: NodeContext, final: FinalWindows | None) -> None:
        self._difference = operator.windows.difference_ms
        self._initializer, self._aggregator = operator.initializer, operator.aggregator
        self._store = ctx.store(operator.store)
        self._failed, self._drop, self._sends_old_values = ctx.failed, ctx.drop, ctx.sends_old_values
        self._forward, self._final = ctx.forward_from(self._store), final

    def usual(self, record: _Record) -> None:
        """From the latest window back, until one is found that ends before the record."""
        timestamp, has_left, has_right = record.timestamp, False, False
        earliest = max(0, timestamp - 2 * self._difference)
        for start, found in self._windows(self._store.backward_fetch, record, earliest):
            end = start + self._difference
            if start == timestamp + 1:
                has_right = True
            elif end > timestamp:
                record.right = record.right or self._own(record, start, found)
                self._add(record, start, found)
            elif end == timestamp:
                has_left = True
                self._add(record, start, found)
                if found[1] >= timestamp:
                    return
                record.before = found[1]
            else:
                record.left, record.before = found, found[1]
                break
        if record.before is not None:
            start = record.before + 1
            if start not in record.starts and start + self._difference >= timestamp:
                self._begin(record, start)
        if not has_left:
            start = timestamp - self._difference
            if record.before is not None and start <= record.before:
                self._add(record, start, (record.left[0], timestamp))
            else:
                self._begin(record, start)
        if not has_right:
            self._put_right(record)

    def early(self, record: _Record) -> None:
        """A record whose left window would start before 0."""
        timestamp, has_right, shared = record.timestamp, False, None
        for start, found in self._windows(self._store.fetch, record, 0):
            if start == 0:
                shared = found
                if found[1] < timestamp:
                    record.before = found[1]
            elif start <= timestamp:
                record.right = self._own(record, start, found)
                self._add(record, start, found)
            else:
                has_right = True
        if record.right is None and shared is not None and shared[1] > timestamp:
            record.right = shared
        if not has_right:
            self._put_right(record)
        if record.before is not None and record.before + 1 not in record.starts:
            self._begin(record, record.before + 1)
        if shared is None:
            self._begin(record, 0)
        else:
            self._add(record, 0, shared)

    def _windows(
        self, fetch: Callable[..., Any], record: _Record, earliest: int
    ) -> Iterator[tuple[int, Any]]:
        """One after the other: a record cache counts those as used that were asked for."""
        try:
            # One more, to see the record's right window too.
            for start, found in fetch(record.key, earliest, record.timestamp + 1):
                record.starts.add(start)
                yield start, found
        except Exception as error:
            raise self._skipped(error, record) from None

    def _own(self, record: _Record, start: int, found: tuple[Any, int]) -> Any:
        """What was found, read once more if it will be needed: an aggregator may change the one it is given."""
        if found[1] <= record.timestamp:
            return found
        return self._store.fetch_raw(self._store.encode_key(record.key), start)

    def _begin(self, record: _Record, start: int) -> None:
        """A new window in which the record is the first."""
        try:
            initial = None if self._initializer is None else self._initializer()
        except Exception as error:
            raise self._skipped(error, record) from None
        self._add(record, start, (initial, record.timestamp))

    def _add(self, record: _Record, start: int, found: tuple[Any, int]) -> None:
        """The record enters a window, unless that is closed."""
        if start + self._difference < record.close:
            self._drop("late")
            return
        old, newest = found[0], record.timestamp
        if old is not None and found[1] > newest:
            newest = found[1]
        try:
            # Without an initializer it is a reduce: the first value is the result as it is.
            first = old is None and self._initializer is None
            new = record.value if first else self._aggregator(record.key, record.value, old)
            self._store.put_raw(self._store.encode_key(record.key), new, newest, start)
        except Exception as error:
            raise self._skipped(error, record) from None
        self._send(record, start, new, old, newest)

    def _put_right(self, record: _Record) -> None:
        """The window right after the record, with what was there before it came, if that is anything."""
        if record.right is None or record.right[1] <= record.timestamp:
            return
        value, newest = record.right
        try:
            raw_key = self._store.encode_key(record.key)
            self._store.put_raw(raw_key, value, newest, record.timestamp + 1)
        except Exception as error:
            raise self._skipped(error, record) from None
        self._send(record, record.timestamp + 1, value, None, newest)

    def _send(self, record: _Record, start: int, new: Any, old: Any, timestamp: int) -> None:
        if self._final is not None:
            self._final.updated(record.key, self._store.encode_key(record.key), start)
            return
        change = (new, old if self._sends_old_values else None, True)
        window = Windowed(record.key, start, start + self._difference)
        self._forward(window, change, timestamp, record.headers)

    def _skipped(self, error: Exception, record: _Record) -> _SkippedError:
        self._failed(error, record.timestamp, record.headers)
        return _SkippedError()
