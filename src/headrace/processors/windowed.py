"""Aggregates per key and time window: tumbling and hopping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headrace.processors.context import NodeContext, Process
from headrace.processors.finals import FinalWindows
from headrace.processors.idle import IdleClock
from headrace.processors.registry import implements
from headrace.record import Headers, Windowed
from headrace.topology.operators import WindowedAggregate

Update: TypeAlias = Callable[[Any, Any, int, Headers, int], bool]


@implements(WindowedAggregate)
def windowed_aggregate(operator: WindowedAggregate, ctx: NodeContext) -> Process:
    """Only a null key is ignored: a null value reaches the aggregator, unlike without windows.

    A record enters a window as long as the window's end is after this operator's stream time less the grace. The
    stream time is the operator's own: it moves with each record that gets here, late ones included.
    """
    windows = operator.windows
    size, grace, starts = windows.size_ms, windows.grace_ms, windows.starts
    final = _final(operator, ctx) if operator.emit.final else None
    drop, time, update = ctx.drop, ctx.memory("stream-time", -1), _update(operator, ctx, final)

    def tumbling(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None:
            drop("null key")
            return
        if timestamp > time.value:
            time.value = timestamp
        start = timestamp - timestamp % size
        if start + size > time.value - grace:
            update(key, value, timestamp, headers, start)
            return
        drop("late")

    def hopping(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None:
            drop("null key")
            return
        if timestamp > time.value:
            time.value = timestamp
        closed = time.value - grace
        for start in starts(timestamp):
            if start + size <= closed:
                drop("late")
            elif not update(key, value, timestamp, headers, start):
                return
        if final is not None:
            final.emit(headers, closed)

    process = tumbling if size == windows.advance_ms and final is None else hopping
    if final is None or operator.emit.idle_ms is None:
        return process
    return IdleClock(ctx, operator.emit.idle_ms, time, final).around(process)


def _update(operator: WindowedAggregate, ctx: NodeContext, final: FinalWindows | None) -> Update:
    """Adds a record to one window; false if a callback failed, which ends the record for all windows."""
    initializer, aggregator, size = operator.initializer, operator.aggregator, operator.windows.size_ms
    store = ctx.store(operator.store)
    encode_key, fetch, put = store.encode_key, store.fetch_raw, store.put_raw
    failed, sends_old_values = ctx.failed, ctx.sends_old_values
    # Final results are sent when a window closes, whatever a cache does.
    forward = ctx.forward_from(store) if final is None else ctx.forward

    def update(key: Any, value: Any, timestamp: int, headers: Headers, start: int) -> bool:
        newest = timestamp
        try:
            raw_key = encode_key(key)
            found = fetch(raw_key, start)
            if found is None:
                old = None if initializer is None else initializer()
            else:
                old, before = found
                if before > newest:
                    newest = before
            # Without an initializer it is a reduce: the first value is the result as it is.
            new = value if old is None and initializer is None else aggregator(key, value, old)
            put(raw_key, new, newest, start)
        except Exception as error:
            failed(error, timestamp, headers)
            return False
        if final is not None:
            final.updated(key, raw_key, start)
        else:
            change = (new, old if sends_old_values else None, True)
            forward(Windowed(key, start, start + size), change, newest, headers)
        return True

    return update


def _final(operator: WindowedAggregate, ctx: NodeContext) -> FinalWindows:
    size, starts = operator.windows.size_ms, operator.windows.starts
    return FinalWindows(
        ctx,
        ctx.store(operator.store),
        size=size,
        wait=operator.windows.grace_ms,
        lower=lambda last: max(0, last - size) + 1,
        upper=lambda close: close - size,
        closes=lambda start: start + size,
        # Not far enough for another window.
        progress=lambda first, last: starts(last) != starts(first - 1),
    )
