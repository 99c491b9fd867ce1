"""Aggregates of a stream by key. Records without a key or a value are ignored; the result has the highest timestamp."""

from __future__ import annotations

from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.processors.versions import is_versioned, writer
from headrace.record import Headers
from headrace.topology.operators import StreamAggregate, StreamReduce


@implements(StreamAggregate)
def aggregate(operator: StreamAggregate, ctx: NodeContext) -> Process:
    """A result of None deletes the row, and the next value starts from the initial one."""
    initializer, aggregator = operator.initializer, operator.aggregator
    store = ctx.store(operator.store)
    encode_key, get = store.encode_key, store.get_raw
    put, forward = writer(store, ctx.forward_from(store))
    versioned = is_versioned(store)
    failed, drop, sends_old_values = ctx.failed, ctx.drop, ctx.sends_old_values

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None or value is None:
            drop("null key or value")
            return
        newest = timestamp
        try:
            raw_key = encode_key(key)
            found = get(raw_key)
            if found is None:
                old = initializer()
            else:
                old, before = found
                if before > newest:
                    newest = before
            new = aggregator(key, value, old)
            # A deletion is logged with the time of its own record.
            put(raw_key, new, newest if new is not None or versioned else timestamp)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        # The first change of a key carries the initial value as its old one: so does Kafka Streams.
        forward(key, (new, old if sends_old_values else None, True), newest, headers)

    return process


@implements(StreamReduce)
def reduce(operator: StreamReduce, ctx: NodeContext) -> Process:
    """The first value is the result as it is; a result of None deletes the row, and the next value is a first one."""
    reducer = operator.reducer
    store = ctx.store(operator.store)
    encode_key, get = store.encode_key, store.get_raw
    put, forward = writer(store, ctx.forward_from(store))
    versioned = is_versioned(store)
    failed, drop, sends_old_values = ctx.failed, ctx.drop, ctx.sends_old_values

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None or value is None:
            drop("null key or value")
            return
        newest = timestamp
        try:
            raw_key = encode_key(key)
            found = get(raw_key)
            if found is None:
                old, new = None, value
            else:
                old, before = found
                if before > newest:
                    newest = before
                new = reducer(old, value)
            # A deletion is logged with the time of its own record.
            put(raw_key, new, newest if new is not None or versioned else timestamp)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, (new, old if sends_old_values else None, True), newest, headers)

    return process
