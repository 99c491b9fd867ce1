"""How a table's row is found when another node asks for it: in a store, or worked out from the rows of other tables.

A table without a store of its own is never read back from anywhere: what made it is done again for the one row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class StoreView:
    """The row as it is in a store."""

    store: str

    @property
    def stores(self) -> tuple[str, ...]:
        """The stores that a reader has to be connected to."""
        return (self.store,)


@dataclass(frozen=True, slots=True)
class FilterView:
    """The row of another table, unless the filter takes it away."""

    table: TableView
    predicate: Callable[[Any, Any], Any]
    negate: bool

    @property
    def stores(self) -> tuple[str, ...]:
        return self.table.stores


@dataclass(frozen=True, slots=True)
class MapValuesView:
    """The row of another table, mapped again."""

    table: TableView
    mapper: Callable[..., Any]
    with_key: bool

    @property
    def stores(self) -> tuple[str, ...]:
        return self.table.stores


@dataclass(frozen=True, slots=True)
class TransformView:
    """The row of another table, transformed again by a transformer of the reader's own."""

    table: TableView
    supplier: Callable[[], Any]
    own_stores: tuple[str, ...]

    @property
    def stores(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.table.stores, *self.own_stores)))


@dataclass(frozen=True, slots=True)
class JoinView:
    """The rows of two tables, joined again; `keeps_this` and `keeps_other` tell inner, left and outer joins apart."""

    this: TableView
    other: TableView
    joiner: Callable[..., Any]
    keeps_this: bool
    keeps_other: bool
    with_key: bool

    @property
    def stores(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.this.stores, *self.other.stores)))


@dataclass(frozen=True, slots=True)
class SuppressView:
    """The row of another table, as it was before the updates that `store` holds back."""

    table: TableView
    store: str

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.store, *self.table.stores)


TableView: TypeAlias = StoreView | FilterView | MapValuesView | TransformView | JoinView | SuppressView
