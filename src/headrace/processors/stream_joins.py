"""Joins of two streams: each side keeps its records for a while and looks for partners among the other's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.idle import IdleClock
from headrace.processors.registry import implements
from headrace.record import NO_HEADERS, Headers
from headrace.serdes.joined import JoinKey
from headrace.topology.operators import JoinBuffer, StreamStreamJoin

NEVER = 2**63 - 1


@implements(JoinBuffer)
def join_buffer(operator: JoinBuffer, ctx: NodeContext) -> Process:
    """Forwards first and keeps second, so that a record of a self join does not meet itself on both sides."""
    store = ctx.store(operator.store)
    encode_key, put = store.encode_key, store.put_raw
    forward, failed, moment = ctx.forward, ctx.failed, ctx.task.moment

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        forward(key, value, timestamp, headers)
        if key is None:
            return
        moment.time = timestamp
        try:
            put(encode_key(key), value, timestamp)
        except Exception as error:
            failed(error, timestamp, headers)

    return process


@implements(StreamStreamJoin)
def stream_stream_join(operator: StreamStreamJoin, ctx: NodeContext) -> Process:
    """A result has the later timestamp of its two records. Records without a value never count; those without a key
    go out at once where their side is kept (KIP-962). With `shared`, a record that has met nobody waits there until
    both streams' time has left its window and the grace behind; one whose window is over already goes out at once.
    """
    windows, is_left, outer = operator.windows, operator.is_left, operator.outer
    before, after = windows.before_ms, windows.after_ms
    if not is_left:
        before, after = after, before
    fetch = ctx.store(operator.store).fetch
    forward, failed, drop, moment = ctx.forward, ctx.failed, ctx.drop, ctx.task.moment
    time = ctx.memory("stream-time", -1, of=operator.clock)
    joiner, waiting = _sided(operator), None if operator.shared is None else _Waiting(operator, ctx, after)
    alone = _alone(joiner, ctx)
    idle = None if waiting is None else waiting.idle_clock(ctx)
    if waiting is not None and idle is not None:
        fetch = waiting.open_only(fetch)

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if timestamp > time.value:
            time.value = timestamp
        if value is None or (key is None and not outer):
            drop("null key or value")
            return
        if key is None:
            alone(key, value, timestamp, headers)
            return
        if waiting is not None and timestamp == time.value and not waiting.release(timestamp, headers):
            return
        latest = max(0, timestamp + after)
        try:
            partners = list(fetch(key, max(0, timestamp - before), latest))
        except Exception as error:
            failed(error, timestamp, headers)
            return
        for other_time, other in partners:
            try:
                if waiting is not None:
                    moment.time = timestamp
                    waiting.forget(JoinKey(other_time, not is_left, key))
                joined = joiner(key, value, other)
            except Exception as error:
                failed(error, timestamp, headers)
                return
            forward(key, joined, max(timestamp, other_time), headers)
        if partners or not outer:
            return
        if waiting is None or latest < time.value:
            alone(key, value, timestamp, headers)
        else:
            waiting.add(JoinKey(timestamp, is_left, key), value, headers)

    return process if idle is None else idle.around(process)


def _alone(joiner: Callable[[Any, Any, Any], Any], ctx: NodeContext) -> Process:
    """The result of a record that has nobody to meet."""
    forward, failed = ctx.forward, ctx.failed

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        try:
            joined = joiner(key, value, None)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, joined, timestamp, headers)

    return process


class _Waiting:
    """The records of both sides that have met nobody yet, in order of timestamp, side and key."""

    def __init__(self, operator: StreamStreamJoin, ctx: NodeContext, after: int) -> None:
        self._operator, self._store = operator, ctx.store(operator.shared or "")
        self._join = _keyed(operator)
        self._grace = operator.windows.grace_ms
        self._after = after
        self._window = {True: operator.windows.after_ms, False: operator.windows.before_ms}
        self._time = ctx.memory("stream-time", -1, of=operator.clock)
        self._oldest = ctx.memory("oldest", NEVER, of=operator.clock)
        self._closed = ctx.memory("idle-closed", -1, of=operator.clock)
        self._forward, self._failed, self._moment = ctx.forward, ctx.failed, ctx.task.moment

    def add(self, key: JoinKey, value: Any, headers: Headers) -> None:
        """Let a record wait; those with the same timestamp, side and key wait together."""
        self._oldest.value = min(self._oldest.value, key.timestamp)
        self._moment.time = key.timestamp
        try:
            raw = self._store.encode_key(key)
            self._store.put_raw(raw, [*(self._store.get_raw(raw) or ()), (key.is_left, value)])
        except Exception as error:
            self._failed(error, key.timestamp, headers)

    def idle_clock(self, ctx: NodeContext) -> IdleClock | None:
        """What lets the time of both sides go on while nothing comes, if that is wanted."""
        idle = self._operator.windows.idle_ms
        if idle is None:
            return None
        return IdleClock(ctx, idle, self._time, self, of=self._operator.clock)

    def open_only(self, fetch: Callable[..., Any]) -> Callable[..., Any]:
        """Only what can still be met of the other side: not what has gone out alone while nothing came."""
        length = self._window[not self._operator.is_left] + self._grace

        def still_open(key: Any, first: int, last: int) -> list[tuple[int, Any]]:
            return [found for found in fetch(key, first, last) if found[0] + length >= self._closed.value]

        return still_open

    def next_close(self) -> int | None:
        """The join's time at which the next record goes out that has met nobody."""
        if self._oldest.value == NEVER:
            return None
        shortest, found = min(self._window.values()), NEVER
        for waiting, _ in self._store.all():
            if waiting.timestamp + shortest >= found:
                break
            found = min(found, waiting.timestamp + self._window[waiting.is_left])
        return None if found == NEVER else found + self._grace + 1

    def close(self, time: int) -> None:
        """Send on what is over by now, without any record."""
        self._closed.value = time
        self._release(time, NO_HEADERS)

    def forget(self, key: JoinKey) -> None:
        """These records have met somebody."""
        raw = self._store.encode_key(key)
        if self._store.get_raw(raw) is not None:
            self._store.delete_raw(raw)

    def release(self, timestamp: int, headers: Headers) -> bool:
        """Send on all whose window is over; false if a joiner failed, which ends the record at hand.

        As in Kafka Streams a key is deleted only after the next one has gone out.
        """
        if self._oldest.value + self._after + self._grace >= self._time.value:
            return True
        return self._release(timestamp, headers)

    def _release(self, timestamp: int, headers: Headers) -> bool:
        self._oldest.value = NEVER
        is_open = {True: False, False: False}
        sent: JoinKey | None = None
        for waiting, values in self._store.all():
            self._oldest.value = waiting.timestamp
            if all(is_open.values()):
                break
            if waiting.timestamp + self._window[waiting.is_left] + self._grace >= self._time.value:
                is_open[waiting.is_left] = True
                continue
            for is_left, value in values:
                try:
                    joined = self._join(waiting.key, *((value, None) if is_left else (None, value)))
                except Exception as error:
                    self._failed(error, timestamp, headers)
                    return False
                self._forward(waiting.key, joined, waiting.timestamp, headers)
            self._delete(sent, timestamp)
            sent = waiting
        self._delete(sent, timestamp)
        return True

    def _delete(self, key: JoinKey | None, timestamp: int) -> None:
        if key is not None:
            self._moment.time = timestamp
            self._store.delete_raw(self._store.encode_key(key))


def _keyed(operator: StreamStreamJoin) -> Callable[[Any, Any, Any], Any]:
    """The joiner with a key, whether the user's takes one or not: (key, left, right)."""
    joiner = operator.joiner
    return joiner if operator.with_key else lambda key, left, right: joiner(left, right)


def _sided(operator: StreamStreamJoin) -> Callable[[Any, Any, Any], Any]:
    """The joiner as one side calls it: (key, own value, the other's)."""
    joiner = _keyed(operator)
    return joiner if operator.is_left else lambda key, right, left: joiner(key, left, right)
