"""Tables: from records to changes and back."""

from __future__ import annotations

from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.processors.versions import writer
from headrace.record import Headers
from headrace.topology.operators import GlobalTableUpdate, TableSource, TableToStream


@implements(TableSource)
def table_source(operator: TableSource, ctx: NodeContext) -> Process:
    """An out-of-order update is applied all the same: the order of the topic decides. Equal values are sent again.

    In a versioned store it finds its place in time instead, and is not the latest.
    """
    forward, failed, drop = ctx.forward, ctx.failed, ctx.drop
    if operator.store is None:

        def pass_on(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            if key is None:
                drop("null key")
                return
            forward(key, (value, None, True), timestamp, headers)

        return pass_on

    store = ctx.store(operator.store)
    encode_key, get = store.encode_key, store.get_raw
    put, forward = writer(store, ctx.forward_from(store))
    sends_old_values = ctx.sends_old_values

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None:
            drop("null key")
            return
        old = None
        try:
            raw_key = encode_key(key)
            if sends_old_values:
                found = get(raw_key)
                old = None if found is None else found[0]
            put(raw_key, value, timestamp)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, (value, old, True), timestamp, headers)

    return process


@implements(TableToStream)
def table_to_stream(operator: TableToStream, ctx: NodeContext) -> Process:
    """The new value of each change, tombstones included."""
    forward = ctx.forward

    def process(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        forward(key, change[0], timestamp, headers)

    return process


@implements(GlobalTableUpdate)
def global_table_update(operator: GlobalTableUpdate, ctx: NodeContext) -> Process:
    """Puts each record into the store; nothing comes after it."""
    store = ctx.store(operator.store)
    encode_key, put = store.encode_key, store.put_raw
    failed, drop = ctx.failed, ctx.drop

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None:
            drop("null key")
            return
        try:
            put(encode_key(key), value, timestamp)
        except Exception as error:
            failed(error, timestamp, headers)
            return

    return process
