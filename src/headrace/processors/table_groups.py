"""Aggregates of a grouped table: a row is taken out of its old group before it is put into its new one."""

from __future__ import annotations

from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.processors.results import NO_PAIRS, not_a_pair
from headrace.processors.versions import is_versioned, skip_late, writer
from headrace.record import Headers
from headrace.topology.operators import TableAggregate, TableGroupBy, TableReduce


@implements(TableGroupBy)
def table_group_by(operator: TableGroupBy, ctx: NodeContext) -> Process:
    """A change within a group stays one record; otherwise the old group is told first. Nulls are in no group."""
    mapper = operator.mapper
    forward, failed = ctx.forward, ctx.failed

    def process(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        new, old, latest = change
        try:
            made: Any = (None, None) if new is None else mapper(key, new)
            made_before: Any = (None, None) if old is None else mapper(key, old)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        for pair in (made, made_before):
            if pair.__class__ is not tuple and isinstance(pair, NO_PAIRS):
                failed(not_a_pair("group_by", pair), timestamp, headers)
                return
        try:
            new_key, new_value = made
            old_key, old_value = made_before
        except (TypeError, ValueError):
            failed(not_a_pair("group_by", made), timestamp, headers)
            return
        try:
            added = new_key is not None and new_value is not None
            removed = old_key is not None and old_value is not None
            together = added and removed and old_key == new_key
        except Exception as error:
            failed(error, timestamp, headers)
            return
        if together:
            forward(new_key, (new_value, old_value, latest), timestamp, headers)
            return
        if removed:
            forward(old_key, (None, old_value, latest), timestamp, headers)
        if added:
            forward(new_key, (new_value, None, latest), timestamp, headers)

    return skip_late(process) if operator.versioned else process


@implements(TableReduce)
def table_reduce(operator: TableReduce, ctx: NodeContext) -> Process:
    """The first value of a group is the result as it is. Only what is combined with a result takes its time over."""
    adder, subtractor = operator.adder, operator.subtractor
    store = ctx.store(operator.store)
    encode_key, get = store.encode_key, store.get_raw
    put, forward = writer(store, ctx.forward_from(store))
    versioned = is_versioned(store)
    failed, sends_old_values = ctx.failed, ctx.sends_old_values

    def process(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        added, removed, _ = change
        newest = timestamp
        try:
            raw_key = encode_key(key)
            before, time = get(raw_key) or (None, timestamp)
            result = before
            if removed is not None and before is not None:
                result = subtractor(before, removed)
                newest = max(timestamp, time)
            if added is not None:
                if result is None:
                    result = added
                else:
                    result = adder(result, added)
                    newest = max(timestamp, time)
            # A deletion is logged with the time of its own record.
            put(raw_key, result, newest if result is not None or versioned else timestamp)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, (result, before if sends_old_values else None, True), newest, headers)

    return process


@implements(TableAggregate)
def table_aggregate(operator: TableAggregate, ctx: NodeContext) -> Process:
    """A group that has nothing yet, or nothing any more, starts from the initial value when a row comes in."""
    initializer, adder, subtractor = operator.initializer, operator.adder, operator.subtractor
    store = ctx.store(operator.store)
    encode_key, get = store.encode_key, store.get_raw
    put, forward = writer(store, ctx.forward_from(store))
    versioned = is_versioned(store)
    failed, sends_old_values = ctx.failed, ctx.sends_old_values

    def process(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        added, removed, _ = change
        newest = timestamp
        try:
            raw_key = encode_key(key)
            before, time = get(raw_key) or (None, timestamp)
            result = before
            if removed is not None and before is not None:
                result = subtractor(key, removed, before)
                newest = max(timestamp, time)
            if added is not None:
                result = adder(key, added, initializer() if result is None else result)
                newest = max(timestamp, time)
            # A deletion is logged with the time of its own record.
            put(raw_key, result, newest if result is not None or versioned else timestamp)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, (result, before if sends_old_values else None, True), newest, headers)

    return process
