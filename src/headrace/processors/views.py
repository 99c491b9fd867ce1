"""Rows of tables, for joins: from a store, or worked out on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headrace.processors.context import NodeContext
from headrace.processors.transformers import Transform, transformer
from headrace.processors.versions import is_versioned
from headrace.state.suppression import NOT_BUFFERED
from headrace.topology.views import (
    FilterView,
    JoinView,
    MapValuesView,
    StoreView,
    SuppressView,
    TableView,
    TransformView,
)

Row: TypeAlias = tuple[Any, int]
"""A value and its timestamp."""

Lookup: TypeAlias = Callable[[Any], Row | None]


class AsOf:
    """The time as of which rows of versioned tables are looked up; whoever looks sets it before."""

    __slots__ = ("time", "used")

    def __init__(self) -> None:
        self.time = -1
        self.used = False
        """Whether there is a versioned table that asks for the time."""


def lookup(view: TableView, ctx: NodeContext, as_of: AsOf | None = None) -> Lookup:
    """The function that finds a row by its key. Callbacks of users run inside it.

    With `as_of`, the rows of versioned tables are those of that time, otherwise the latest ones.
    """
    match view:
        case StoreView(store):
            found = ctx.store(store)
            if as_of is not None and is_versioned(found):
                return _as_of(found, as_of)
            return rows_of(found)
        case FilterView(table, predicate, negate):
            return _filtered(lookup(table, ctx, as_of), predicate, negate)
        case MapValuesView(table, mapper, with_key):
            return _mapped(lookup(table, ctx, as_of), mapper, with_key)
        case TransformView(table, supplier):
            return _transformed(lookup(table, ctx, as_of), transformer(supplier, ctx, of_record=False))
        case JoinView():
            # A join is not versioned, even if both of its sides are.
            return _joined(view, lookup(view.this, ctx), lookup(view.other, ctx))
        case SuppressView(table, store):
            return _suppressed(lookup(table, ctx), ctx.store(store).prior)


def rows_of(store: Any) -> Lookup:
    """Rows of whatever kind of store the table has; keys of windowed tables are `Windowed`."""
    if hasattr(store, "fetch_session"):

        def in_session(key: Any) -> Row | None:
            found = store.fetch_session(key.key, key.start, key.end)
            return None if found is None else (found, key.end)

        return in_session

    if hasattr(store, "fetch"):

        def in_window(key: Any) -> Row | None:
            row: Row | None = store.fetch(key.key, key.start)
            return row

        return in_window

    encode_key, get = store.encode_key, store.get_raw

    def by_key(key: Any) -> Row | None:
        row: Row | None = get(encode_key(key))
        return row

    return by_key


def _as_of(store: Any, as_of: AsOf) -> Lookup:
    encode_key, get = store.encode_key, store.get_raw_as_of
    as_of.used = True

    def find(key: Any) -> Row | None:
        row: Row | None = get(encode_key(key), as_of.time)
        return row

    return find


def _filtered(row_of: Lookup, predicate: Callable[[Any, Any], Any], negate: bool) -> Lookup:
    def find(key: Any) -> Row | None:
        row = row_of(key)
        return None if row is None or bool(predicate(key, row[0])) is negate else row

    return find


def _mapped(row_of: Lookup, mapper: Callable[..., Any], with_key: bool) -> Lookup:
    def find(key: Any) -> Row | None:
        row = row_of(key)
        if row is None:
            return None
        value = mapper(key, row[0]) if with_key else mapper(row[0])
        return None if value is None else (value, row[1])

    return find


def _transformed(row_of: Lookup, transform: Transform) -> Lookup:
    def find(key: Any) -> Row | None:
        # A transformer may make a row where there was none.
        value, time = row_of(key) or (None, -1)
        value = transform(key, value)
        return None if value is None else (value, time)

    return find


def _joined(view: JoinView, this_row: Lookup, other_row: Lookup) -> Lookup:
    joiner, with_key = view.joiner, view.with_key
    keeps_this, keeps_other = view.keeps_this, view.keeps_other

    def find(key: Any) -> Row | None:
        this = this_row(key)
        if this is None and not keeps_other:
            return None
        other = other_row(key)
        if other is None and (this is None or not keeps_this):
            return None
        left, left_time = this or (None, -1)
        right, right_time = other or (None, -1)
        value = joiner(key, left, right) if with_key else joiner(left, right)
        return None if value is None else (value, max(left_time, right_time))

    return find


def _suppressed(row_of: Lookup, prior: Callable[[Any], Any]) -> Lookup:
    def find(key: Any) -> Row | None:
        value = prior(key)
        if value is NOT_BUFFERED:
            return row_of(key)
        # When it was is not known: only the update behind it is.
        return None if value is None else (value, -1)

    return find
