"""Tables made of the rows of another table one by one: filter and map_values, with or without a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.processors.transformers import transformer
from headrace.processors.versions import writer
from headrace.record import Headers
from headrace.topology.operators import TableFilter, TableMapValues, TableTransformValues


@implements(TableFilter)
def table_filter(operator: TableFilter, ctx: NodeContext) -> Process:
    """A row that fails becomes a tombstone, unless it is known that there was none before either."""
    predicate, negate = operator.predicate, operator.negate

    def passed(key: Any, value: Any) -> Any:
        return None if bool(predicate(key, value)) is negate else value

    return _rows(ctx, passed, operator.store, skips_absent=ctx.sends_old_values and not operator.versioned)


@implements(TableMapValues)
def table_map_values(operator: TableMapValues, ctx: NodeContext) -> Process:
    """The mapper never sees a tombstone: it is passed on as one."""
    mapper = operator.mapper
    if operator.with_key:
        return _rows(ctx, mapper, operator.store)
    return _rows(ctx, lambda key, value: mapper(value), operator.store)


@implements(TableTransformValues)
def table_transform_values(operator: TableTransformValues, ctx: NodeContext) -> Process:
    """The transformer sees deleted rows, too, and old ones again where there is no store to find their results in."""
    transform = transformer(operator.supplier, ctx, of_record=True)
    forward, failed, sends_old_values = ctx.forward, ctx.failed, ctx.sends_old_values
    store, moment = None if operator.store is None else ctx.store(operator.store), ctx.task.moment
    if store is not None:
        put, forward = writer(store, ctx.forward_from(store))

    def process(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        new, old, latest = change
        moment.time = timestamp
        try:
            new = transform(key, new)
            if store is None:
                old = transform(key, old) if sends_old_values else None
            else:
                raw_key = store.encode_key(key)
                found = store.get_raw(raw_key) if sends_old_values else None
                old = None if found is None else found[0]
                put(raw_key, new, timestamp)
                latest = True
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, (new, old, latest), timestamp, headers)

    return process


def _rows(
    ctx: NodeContext, change_value: Callable[[Any, Any], Any], name: str | None, *, skips_absent: bool = False
) -> Process:
    """Both values of a change are changed; with a store, the old one is what the store has."""
    forward, failed, sends_old_values = ctx.forward, ctx.failed, ctx.sends_old_values
    store = None if name is None else ctx.store(name)

    def passing(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        new, old, latest = change
        try:
            new = None if new is None else change_value(key, new)
            old = None if old is None or not sends_old_values else change_value(key, old)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        if skips_absent and new is None and old is None:
            return
        forward(key, (new, old, latest), timestamp, headers)

    if store is None:
        return passing
    encode_key, get = store.encode_key, store.get_raw
    put, forward = writer(store, ctx.forward_from(store))

    def keeping(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        new, old = change[0], None
        try:
            new = None if new is None else change_value(key, new)
            raw_key = encode_key(key)
            if sends_old_values:
                found = get(raw_key)
                old = None if found is None else found[0]
                if skips_absent and new is None and old is None:
                    return
            put(raw_key, new, timestamp)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, (new, old, True), timestamp, headers)

    return keeping
