"""Aggregates per key and time window: tumbling and hopping."""

from __future__ import annotations

from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.record import Headers, Windowed
from headrace.topology.operators import WindowedAggregate


@implements(WindowedAggregate)
def windowed_aggregate(operator: WindowedAggregate, ctx: NodeContext) -> Process:
    """Only a null key is ignored: a null value reaches the aggregator, unlike without windows.

    A record enters a window as long as the window's end is after this operator's stream time less the grace. The
    stream time is the operator's own: it moves with each record that gets here, late ones included.
    """
    initializer, aggregator, windows = operator.initializer, operator.aggregator, operator.windows
    size, advance, grace, starts = windows.size_ms, windows.advance_ms, windows.grace_ms, windows.starts
    store = ctx.store(operator.store)
    encode_key, fetch, put = store.encode_key, store.fetch_raw, store.put_raw
    forward, failed, drop, sends_old_values = ctx.forward, ctx.failed, ctx.drop, ctx.sends_old_values
    time = ctx.memory("stream-time", -1)

    def update(key: Any, value: Any, timestamp: int, headers: Headers, start: int) -> None:
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
            return
        change = (new, old if sends_old_values else None, True)
        forward(Windowed(key, start, start + size), change, newest, headers)

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
            if start + size > closed:
                update(key, value, timestamp, headers, start)
            else:
                drop("late")

    return tumbling if size == advance else hopping
