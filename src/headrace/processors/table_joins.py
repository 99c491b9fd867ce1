"""Joins of two tables: a change on either side meets the row of the other, and the result has the later time."""

from __future__ import annotations

from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.processors.versions import skip_late, writer
from headrace.processors.views import lookup
from headrace.record import Headers
from headrace.topology.operators import TableJoinMerge, TableTableJoin


@implements(TableTableJoin)
def table_table_join(operator: TableTableJoin, ctx: NodeContext) -> Process:
    """Without a row on the other side there is a result only if this side's rows are kept, and only if there is or
    was one here. A deleted row still meets the other side's when that one's rows are kept.
    """
    joiner, keeps_this, keeps_other = operator.joiner, operator.keeps_this, operator.keeps_other
    with_key, reverse = operator.with_key, operator.reverse
    row_of = lookup(operator.other, ctx)
    forward, failed, drop, sends_old_values = ctx.forward, ctx.failed, ctx.drop, ctx.sends_old_values

    def join(key: Any, this: Any, other: Any) -> Any:
        left, right = (other, this) if reverse else (this, other)
        return joiner(key, left, right) if with_key else joiner(left, right)

    def process(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        if key is None:
            drop("null key")
            return
        new, old, latest = change
        newest, other = timestamp, None
        new_result = old_result = None
        try:
            row = row_of(key)
            if row is not None:
                other, time = row
                newest = max(timestamp, time)
            elif not keeps_this or (new is None and old is None):
                return
            always = keeps_other and other is not None
            if always or new is not None:
                new_result = join(key, new, other)
            if sends_old_values and (always or old is not None):
                old_result = join(key, old, other)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, (new_result, old_result, latest), newest, headers)

    return skip_late(process) if operator.versioned else process


@implements(TableJoinMerge)
def table_join_merge(operator: TableJoinMerge, ctx: NodeContext) -> Process:
    """The old value is the one that the join worked out, even where a store has it too."""
    forward, failed, sends_old_values = ctx.forward, ctx.failed, ctx.sends_old_values
    if operator.store is None:

        def passing(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
            new, old, latest = change
            forward(key, (new, old if sends_old_values else None, latest), timestamp, headers)

        return passing

    store = ctx.store(operator.store)
    encode_key = store.encode_key
    put, forward = writer(store, ctx.forward_from(store))

    def keeping(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        new, old, _ = change
        try:
            put(encode_key(key), new, timestamp)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, (new, old if sends_old_values else None, True), timestamp, headers)

    return keeping
