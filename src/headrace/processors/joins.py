"""Joins of a stream with a table: only the stream's records trigger a result, with their own timestamp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.grace import after_grace
from headrace.processors.registry import implements
from headrace.processors.views import AsOf, Lookup, lookup, rows_of
from headrace.record import Headers
from headrace.topology.operators import StreamGlobalTableJoin, StreamTableJoin


@implements(StreamTableJoin)
def stream_table_join(operator: StreamTableJoin, ctx: NodeContext) -> Process:
    """The table's row of the same key, as it is now; of a versioned table, as of the record's time."""
    as_of = AsOf()
    process = _join(ctx, lookup(operator.table, ctx, as_of), None, operator)
    if not as_of.used:
        return process

    def at_its_time(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        as_of.time = timestamp
        process(key, value, timestamp, headers)

    if operator.buffer is None:
        return at_its_time
    return after_grace(ctx, operator.buffer, operator.grace_ms, at_its_time)


@implements(StreamGlobalTableJoin)
def stream_global_table_join(operator: StreamGlobalTableJoin, ctx: NodeContext) -> Process:
    """The row under the key that the mapper chooses."""
    return _join(ctx, rows_of(ctx.global_store(operator.store)), operator.mapper, operator)


def _join(
    ctx: NodeContext,
    row_of: Lookup,
    mapper: Callable[[Any, Any], Any] | None,
    operator: StreamTableJoin | StreamGlobalTableJoin,
) -> Process:
    """A null value is always ignored; a record whose table key is null is kept by a left join only (KIP-962)."""
    joiner, left, with_key = operator.joiner, operator.left, operator.with_key
    forward, failed, drop = ctx.forward, ctx.failed, ctx.drop

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if value is None:
            drop("null value")
            return
        try:
            table_key = key if mapper is None else mapper(key, value)
            found = None if table_key is None else row_of(table_key)
            if found is None and not left:
                if table_key is None:
                    drop("null key")
                return
            row = None if found is None else found[0]
            joined = joiner(key, value, row) if with_key else joiner(value, row)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, joined, timestamp, headers)

    return process
