"""How a join of two tables becomes nodes: what `TableJoinOperations` is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.dsl import hints
from headrace.dsl.foreign_key import join_by_foreign_key
from headrace.dsl.forms import As, form, hinted
from headrace.dsl.graph import Operation
from headrace.dsl.materialized import Store, choose_store
from headrace.dsl.old_values import send_old_values
from headrace.dsl.table_handle import OptionalStore, TableHandle, specs
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.topology import operators
from headrace.topology.callbacks import check_callable
from headrace.topology.nodes import Partitioner
from headrace.topology.views import JoinView

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable

K = TypeVar("K")
V = TypeVar("V")


class TableJoining(TableHandle[K, V]):
    """A table that can be joined with others."""

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
        self._check_join(other, join, with_key)
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

    def _join_on(
        self,
        other: KTable[Any, Any],
        on: Callable[[Any, Any], Any],
        join: Callable[..., Any],
        value: As[Any] | None,
        with_key: bool,
        store: Store[Any, Any] | None,
        name: str | None,
        partitioner: Partitioner | None,
        other_partitioner: Partitioner | None,
        *,
        left: bool,
    ) -> KTable[Any, Any]:
        self._check_join(other, join, with_key)
        partitioners = (partitioner, other_partitioner)
        return join_by_foreign_key(
            self, other, on, join, value, with_key, store, name, *partitioners, left=left
        )

    def _check_join(self, other: object, join: object, with_key: bool) -> None:
        check_callable(join, "join", "(key, row, other row)" if with_key else "(row, other row)")
        if not isinstance(other, TableHandle):
            raise InvalidArgumentError(
                f"a table is joined with a `KTable`, got {other!r}", node=self._name, origin=caller()
            )
        self._check_same_builder(other._blueprint)

    def _check_no_partitioner(self, given: object) -> None:
        if given is not None:
            raise InvalidArgumentError(
                "tables that are joined by their keys are read where they are: leave the partitioners out, or say by "
                "`on` which key of the other table a row names",
                node=self._name,
                origin=caller(),
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
