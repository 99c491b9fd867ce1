"""Operators that look at one record at a time and remember nothing."""

from __future__ import annotations

from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.processors.results import NO_PAIRS, TEXTS, not_a_pair, not_iterable
from headrace.record import Headers
from headrace.topology.operators import (
    Branch,
    DropNullKeys,
    Filter,
    FlatMap,
    FlatMapValues,
    Map,
    MapValues,
    PassThrough,
    Peek,
    SelectKey,
)


@implements(PassThrough)
def pass_through(operator: PassThrough, ctx: NodeContext) -> Process:
    """Nothing in between: the children are called directly."""
    return ctx.forward


@implements(Filter)
def filter_records(operator: Filter, ctx: NodeContext) -> Process:
    """Keeps the records for which the predicate holds, or (negated) does not."""
    predicate, forward, failed = operator.predicate, ctx.forward, ctx.failed

    def keep(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        try:
            holds = predicate(key, value)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        if holds:
            forward(key, value, timestamp, headers)

    def reject(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        try:
            holds = predicate(key, value)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        if not holds:
            forward(key, value, timestamp, headers)

    return reject if operator.negate else keep


@implements(DropNullKeys)
def drop_null_keys(operator: DropNullKeys, ctx: NodeContext) -> Process:
    """Keeps the records that have a key."""
    forward, drop = ctx.forward, ctx.drop

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None:
            drop("null key")
            return
        forward(key, value, timestamp, headers)

    return process


@implements(Map)
def map_records(operator: Map, ctx: NodeContext) -> Process:
    """A new key and value for each record; time and headers stay."""
    mapper, forward, failed = operator.mapper, ctx.forward, ctx.failed

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        try:
            made: Any = mapper(key, value)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        if made.__class__ is not tuple and isinstance(made, NO_PAIRS):
            failed(not_a_pair("map", made), timestamp, headers)
            return
        try:
            key, value = made
        except (TypeError, ValueError):
            failed(not_a_pair("map", made), timestamp, headers)
            return
        forward(key, value, timestamp, headers)

    return process


@implements(MapValues)
def map_values(operator: MapValues, ctx: NodeContext) -> Process:
    """A new value for each record, null ones included."""
    mapper, forward, failed = operator.mapper, ctx.forward, ctx.failed

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        try:
            value = mapper(value)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, value, timestamp, headers)

    def process_with_key(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        try:
            value = mapper(key, value)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, value, timestamp, headers)

    return process_with_key if operator.with_key else process


@implements(FlatMap)
def flat_map(operator: FlatMap, ctx: NodeContext) -> Process:
    """Any number of keys and values for each record."""
    mapper, forward, failed = operator.mapper, ctx.forward, ctx.failed

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        try:
            made = mapper(key, value)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        if made.__class__ is not list and isinstance(made, TEXTS):
            failed(not_iterable("flat_map", made), timestamp, headers)
            return
        try:
            pairs = iter(made)
        except TypeError:
            failed(not_iterable("flat_map", made), timestamp, headers)
            return
        while True:
            # The mapper may be a generator, so that taking the next pair can raise too;
            # what it gave before has gone on already, as in Kafka Streams.
            try:
                pair = next(pairs)
            except StopIteration:
                return
            except Exception as error:
                failed(error, timestamp, headers)
                return
            if pair.__class__ is not tuple and isinstance(pair, NO_PAIRS):
                failed(not_a_pair("flat_map", pair), timestamp, headers)
                return
            try:
                new_key, new_value = pair
            except (TypeError, ValueError):
                failed(not_a_pair("flat_map", pair), timestamp, headers)
                return
            forward(new_key, new_value, timestamp, headers)

    return process


@implements(FlatMapValues)
def flat_map_values(operator: FlatMapValues, ctx: NodeContext) -> Process:
    """Any number of values for each record."""
    mapper, with_key, forward, failed = operator.mapper, operator.with_key, ctx.forward, ctx.failed

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        try:
            made = mapper(key, value) if with_key else mapper(value)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        if made.__class__ is not list and isinstance(made, TEXTS):
            failed(not_iterable("flat_map_values", made), timestamp, headers)
            return
        try:
            values = iter(made)
        except TypeError:
            failed(not_iterable("flat_map_values", made), timestamp, headers)
            return
        while True:
            try:
                new_value = next(values)
            except StopIteration:
                return
            except Exception as error:
                failed(error, timestamp, headers)
                return
            forward(key, new_value, timestamp, headers)

    return process


@implements(SelectKey)
def select_key(operator: SelectKey, ctx: NodeContext) -> Process:
    """A new key for each record."""
    mapper, forward, failed = operator.mapper, ctx.forward, ctx.failed

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        try:
            key = mapper(key, value)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        forward(key, value, timestamp, headers)

    return process


@implements(Peek)
def peek(operator: Peek, ctx: NodeContext) -> Process:
    """A look at each record; `foreach` ends there."""
    action, goes_on, forward, failed = operator.action, operator.forward, ctx.forward, ctx.failed

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        try:
            action(key, value)
        except Exception as error:
            failed(error, timestamp, headers)
            return
        if goes_on:
            forward(key, value, timestamp, headers)

    return process


@implements(Branch)
def branch(operator: Branch, ctx: NodeContext) -> Process:
    """To the first child whose predicate holds, and to no other."""
    failed = ctx.failed
    ways = tuple(zip(operator.predicates, map(ctx.child, operator.children), strict=True))
    default = None if operator.default is None else ctx.child(operator.default)

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        for predicate, child in ways:
            try:
                holds = predicate(key, value)
            except Exception as error:
                failed(error, timestamp, headers)
                return
            if holds:
                child(key, value, timestamp, headers)
                return
        if default is not None:
            default(key, value, timestamp, headers)

    return process
