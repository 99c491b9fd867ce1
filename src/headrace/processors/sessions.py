"""Aggregates per key and session: windows of activity that grow and merge."""

from __future__ import annotations

from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.finals import FinalSessions
from headrace.processors.idle import IdleClock
from headrace.processors.registry import implements
from headrace.record import NO_HEADERS, Headers, Windowed
from headrace.topology.operators import SessionAggregate


@implements(SessionAggregate)
def session_aggregate(operator: SessionAggregate, ctx: NodeContext) -> Process:
    """Only a null key is ignored. A record is late when the session it would make ended before stream time less
    grace and gap. Each session that it absorbs is deleted with a tombstone first, unless nothing grows: a session
    that is just this record's instant. Results have the session's end as timestamp, and no headers: so it is in
    Kafka Streams.
    """
    initializer, aggregator, merger = operator.initializer, operator.aggregator, operator.merger
    gap, grace = operator.windows.gap_ms, operator.windows.grace_ms
    store = ctx.store(operator.store)
    encode_key, find, put = store.encode_key, store.find_sessions_raw, store.put_raw
    forward = ctx.forward_from(store)
    failed, drop, sends_old_values = ctx.failed, ctx.drop, ctx.sends_old_values
    time, moment = ctx.memory("stream-time", -1), ctx.task.moment
    final = FinalSessions(ctx, store, wait=grace + gap) if operator.emit.final else None
    send = forward if final is None else _nothing

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None:
            drop("null key")
            return
        if timestamp > time.value:
            time.value = timestamp
        moment.time = timestamp
        start = end = timestamp
        try:
            raw_key = encode_key(key)
            result = None if initializer is None else initializer()
            merged = list(find(raw_key, timestamp - gap, timestamp + gap))
            for first, last, found in merged:
                # Without an initializer it is a reduce: nothing merged with a session is that session.
                result = found if result is None and initializer is None else merger(key, result, found)
                start, end = min(start, first), max(end, last)
            if end < time.value - grace - gap:
                drop("late")
                return
            grown = start != end or start != timestamp
        except Exception as error:
            failed(error, timestamp, headers)
            return
        if grown:
            for first, last, found in merged:
                moment.time = timestamp
                put(raw_key, first, last, None)
                gone = (None, found if sends_old_values else None, True)
                send(Windowed(key, first, last), gone, last, NO_HEADERS)
            moment.time = timestamp
        try:
            new = value if result is None and initializer is None else aggregator(key, value, result)
            put(raw_key, start, end, new)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        send(Windowed(key, start, end), (new, None, True), end, NO_HEADERS)
        if final is not None:
            final.updated(key, raw_key, start, end)
            final.emit(headers, time.value - grace - gap)

    if final is None or operator.emit.idle_ms is None:
        return process
    return IdleClock(ctx, operator.emit.idle_ms, time, final).around(process)


def _nothing(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
    """Where updates go when only final results are wanted."""
