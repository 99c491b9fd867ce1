"""What all operations of a table share: how its rows are found, and how a table is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from headrace.dsl.forms import Form
from headrace.dsl.graph import Operation
from headrace.dsl.handle import Blueprint, Handle
from headrace.dsl.materialized import StoreChoice, choose_store
from headrace.dsl.old_values import keep_rows
from headrace.topology.views import StoreView, TableView

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable
    from headrace.dsl.materialized import Store

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class OptionalStore:
    """A `store=` that may be left out: then there is no store, but perhaps serdes."""

    key: Form
    value: Form
    chosen: StoreChoice | None = None

    versioned: bool | None = None
    """None: there is nothing of a store at all, and the table is what it is made of."""

    @property
    def name(self) -> str | None:
        return None if self.chosen is None else self.chosen.name


class TableHandle(Handle[K, V]):
    """A table while the topology is built. `rows` says how to find a row where the table has no store of its own."""

    def __init__(
        self,
        blueprint: Blueprint,
        node: int,
        *,
        key: Form,
        value: Form,
        sources: frozenset[str],
        store: str | None,
        queryable: bool,
        rows: TableView | None = None,
    ) -> None:
        super().__init__(blueprint, node, key=key, value=value, sources=sources)
        self._store = store
        self._queryable = queryable
        if store is not None:
            rows = StoreView(store)
        assert rows is not None
        self._view: TableView = rows

    @property
    def queryable_store_name(self) -> str | None:
        """The store to ask for rows; None when it was given no name.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().table("users", value=dict).queryable_store_name
        """
        return self._store if self._queryable else None

    def _rows(self) -> TableView:
        """How another node finds a row; from now on there is a store to find it in."""
        keep_rows(self._blueprint, self._view.stores)
        return self._view

    def _optional_store(
        self, store: Store[Any, Any] | None, prefix: str, key: Form, value: Form
    ) -> OptionalStore:
        """A store without a name uses up a number, but is not made."""
        if store is None:
            return OptionalStore(key, value)
        chosen = choose_store(store, self._blueprint.namer, prefix, key=key, value=value)
        return OptionalStore(
            chosen.key, chosen.value, chosen if chosen.is_needed else None, chosen.is_versioned
        )

    def _table(
        self, node: Operation, kept: OptionalStore, rows: TableView, sources: frozenset[str]
    ) -> KTable[Any, Any]:
        """The table behind a new node."""
        return cast("type[KTable[Any, Any]]", type(self))(
            self._blueprint,
            self._blueprint.add(node),
            key=kept.key,
            value=kept.value,
            sources=sources,
            store=kept.name,
            queryable=kept.chosen is not None and kept.chosen.queryable,
            rows=rows,
        )


def specs(kept: OptionalStore) -> tuple[Any, ...]:
    """The store itself, if there is one."""
    return () if kept.chosen is None else (kept.chosen.spec("timestamped_key_value"),)
