"""Joins of two tables by their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from headrace.dsl import hints
from headrace.dsl.forms import As, form, hinted
from headrace.dsl.graph import Operation
from headrace.dsl.handle import check_callable
from headrace.dsl.materialized import Store, choose_store
from headrace.dsl.old_values import send_old_values
from headrace.dsl.table_handle import OptionalStore, TableHandle, specs
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.topology import operators
from headrace.topology.views import JoinView

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable

K = TypeVar("K")
V = TypeVar("V")
V2 = TypeVar("V2")
VT = TypeVar("VT")


class TableJoinOperations(TableHandle[K, V]):
    """What a `KTable` can be joined with."""

    @overload
    def join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[V, VT], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[K, V, VT], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    def join(
        self,
        other: KTable[K, Any],
        *,
        join: Callable[..., V2],
        value: As[V2] | None = None,
        with_key: bool = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """A row for each key that both tables have, worked out again when either side changes.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> names, cities = builder.table("names", value=str), builder.table("cities", value=str)
        >>> names.join(cities, join=lambda name, city: f"{name} of {city}", value=str, store="people")
        <KTable of `KTABLE-MERGE-0000000006`>
        """
        return self._join(other, join, value, with_key, store, name, keeps_this=False, keeps_other=False)

    @overload
    def left_join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[V, VT | None], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[K, V, VT | None], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    def left_join(
        self,
        other: KTable[K, Any],
        *,
        join: Callable[..., V2],
        value: As[V2] | None = None,
        with_key: bool = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """A row for each key of this table; where the other table has none, the joiner gets None.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> names, cities = builder.table("names", value=str), builder.table("cities", value=str)
        >>> names.left_join(cities, join=lambda name, city: f"{name} of {city or 'nowhere'}", value=str)
        <KTable of `KTABLE-MERGE-0000000006`>
        """
        return self._join(other, join, value, with_key, store, name, keeps_this=True, keeps_other=False)

    @overload
    def outer_join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[V | None, VT | None], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def outer_join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[K, V | None, VT | None], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    def outer_join(
        self,
        other: KTable[K, Any],
        *,
        join: Callable[..., V2],
        value: As[V2] | None = None,
        with_key: bool = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """A row for each key that either table has; the joiner gets None for a side that has none.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> web, shop = builder.table("web", value=int), builder.table("shop", value=int)
        >>> web.outer_join(shop, join=lambda a, b: (a or 0) + (b or 0), value=int, name="sales")
        <KTable of `sales`>
        """
        return self._join(other, join, value, with_key, store, name, keeps_this=True, keeps_other=True)

    def _join(
        self,
        other: KTable[Any, Any],
        join: Callable[..., Any],
        value: As[Any] | None,
        with_key: bool,
        store: Store[Any, Any] | None,
        name: str | None,
        *,
        keeps_this: bool,
        keeps_other: bool,
    ) -> KTable[Any, Any]:
        check_callable(join, "join", "(key, row, other row)" if with_key else "(row, other row)")
        if not isinstance(other, TableHandle):
            raise InvalidArgumentError(
                f"a table is joined with a `KTable`, got {other!r}", node=self._name, origin=caller()
            )
        self._check_same_builder(other._blueprint)
        blueprint, joined = self._blueprint, form(value, hinted(hints.result(join)))
        kept = OptionalStore(self._key, joined)
        if store is not None:
            # Unlike elsewhere, a store without a name is made all the same.
            chosen = choose_store(store, blueprint.namer, "KTABLE-MERGE-", key=self._key, value=joined)
            kept = OptionalStore(chosen.key, chosen.value, chosen)
        merge = blueprint.name("KTABLE-MERGE-", name)
        if keeps_this:
            send_old_values(blueprint, self._node)
        if keeps_other:
            send_old_values(blueprint, other._node)
        rows, other_rows = self._rows(), other._rows()
        this_side = operators.TableTableJoin(
            other_rows, join, keeps_this, keeps_other, reverse=False, with_key=with_key
        )
        other_side = operators.TableTableJoin(
            rows, join, keeps_other, keeps_this, reverse=True, with_key=with_key
        )
        sides = (
            self._side("KTABLE-JOINTHIS-", f"{name}-join-this" if name else None, self._node, this_side),
            self._side("KTABLE-JOINOTHER-", f"{name}-join-other" if name else None, other._node, other_side),
        )
        sources = self._sources | other._sources
        node = Operation(
            name=merge,
            parents=sides,
            origin=caller(),
            operator=operators.TableJoinMerge(kept.name),
            stores=specs(kept),
            versioned=kept.chosen is not None and kept.chosen.is_versioned,
            joined_sources=sources,
        )
        return self._table(
            node, kept, JoinView(rows, other_rows, join, keeps_this, keeps_other, with_key), sources
        )

    def _side(self, prefix: str, name: str | None, table: int, operator: operators.TableTableJoin) -> int:
        node = Operation(
            name=self._blueprint.name(prefix, name),
            parents=(table,),
            origin=caller(),
            operator=operator,
            reads=operator.other.stores,
        )
        return self._blueprint.add(node)
