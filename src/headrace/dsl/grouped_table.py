"""`KGroupedTable`: a table grouped by another key, to be aggregated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.dsl import hints
from headrace.dsl.forms import As, Form, form, hinted
from headrace.dsl.graph import ChangeRepartition, Operation
from headrace.dsl.handle import Blueprint, Handle
from headrace.dsl.materialized import Store, StoreChoice, choose_store
from headrace.origin import caller
from headrace.serdes import ChangeSerde, serde_for
from headrace.topology import operators
from headrace.topology.callbacks import check_callable
from headrace.topology.naming import REPARTITION_SUFFIX
from headrace.topology.operators import Operator

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")

AGGREGATE, REDUCE = "KTABLE-AGGREGATE-", "KTABLE-REDUCE-"


class KGroupedTable(Handle[K, V]):
    """A table grouped by another key. Made by `KTable.group_by`.

    A row that changes is taken out of its old group and put into its new one, so every aggregation needs the way
    back, too: a subtractor.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        node: int,
        *,
        key: Form,
        value: Form,
        sources: frozenset[str],
        given_name: str | None,
        make_table: Callable[..., KTable[Any, Any]],
    ) -> None:
        super().__init__(blueprint, node, key=key, value=value, sources=sources)
        self._given_name = given_name
        self._make_table = make_table
        self._shared: int | None = None
        """A name given to the grouping is its repartition topic's, shared by all its aggregations."""

    def count(self, *, store: Store[K, int] | None = None, name: str | None = None) -> KTable[K, int]:
        """Count the rows of each group.

        >>> from headrace import StreamsBuilder
        >>> users = StreamsBuilder().table("users", value=str, store="cities")
        >>> users.group_by(lambda user, city: (city, user)).count(store="people-by-city")
        <KTable of `KTABLE-AGGREGATE-0000000005`>
        """
        chosen = self._choose(store, Form(serde_for(int)))
        operator = operators.TableAggregate(chosen.name, _zero, _plus_one, _minus_one)
        return self._aggregated(AGGREGATE, name, operator, chosen)

    def reduce(
        self,
        adder: Callable[[V, V], V],
        subtractor: Callable[[V, V], V],
        *,
        value: As[V] | None = None,
        store: Store[K, V] | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Combine the values of each group: `adder(so_far, value)`, and `subtractor(so_far, value)` to undo it.

        >>> from headrace import StreamsBuilder
        >>> orders = StreamsBuilder().table("orders", value=int, store="orders")
        >>> by_size = orders.group_by(lambda order, amount: ("large" if amount > 100 else "small", amount))
        >>> by_size.reduce(lambda total, n: total + n, lambda total, n: total - n, store="totals")
        <KTable of `KTABLE-REDUCE-0000000005`>
        """
        check_callable(adder, "reduce", "(so far, value)")
        check_callable(subtractor, "reduce", "(so far, value)")
        chosen = self._choose(store, form(value, self._value))
        operator = operators.TableReduce(chosen.name, adder, subtractor)
        return self._aggregated(REDUCE, name, operator, chosen)

    def aggregate(
        self,
        initializer: Callable[[], A],
        adder: Callable[[K, V, A], A],
        subtractor: Callable[[K, V, A], A],
        *,
        value: As[A] | None = None,
        store: Store[K, A] | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """Build up a result for each group by `adder(key, value, so_far)`; `subtractor` takes a value out again.

        >>> from headrace import StreamsBuilder
        >>> orders = StreamsBuilder().table("orders", value=float, store="orders")
        >>> by_day = orders.group_by(lambda order, amount: (order[:10], amount))
        >>> by_day.aggregate(
        ...     float, lambda day, n, total: total + n, lambda day, n, total: total - n, store="days"
        ... )
        <KTable of `KTABLE-AGGREGATE-0000000005`>
        """
        check_callable(initializer, "aggregate", "()")
        check_callable(adder, "aggregate", "(key, value, so far)")
        check_callable(subtractor, "aggregate", "(key, value, so far)")
        started = hinted(hints.result(initializer))
        chosen = self._choose(store, form(value, hinted(hints.result(adder), started)))
        operator = operators.TableAggregate(chosen.name, initializer, adder, subtractor)
        return self._aggregated(AGGREGATE, name, operator, chosen)

    def _choose(self, store: Store[Any, Any] | None, value: Form) -> StoreChoice:
        # A reduce has a store of this name, too.
        return choose_store(store, self._blueprint.namer, AGGREGATE, key=self._key, value=value)

    def _aggregated(
        self, prefix: str, name: str | None, operator: Operator, chosen: StoreChoice
    ) -> KTable[Any, Any]:
        blueprint = self._blueprint
        sink = blueprint.name("KSTREAM-SINK-", None if name is None else f"{name}-sink")
        source = blueprint.name("KSTREAM-SOURCE-", None if name is None else f"{name}-source")
        own_name = blueprint.name(prefix, name)
        if self._shared is None or self._given_name is None:
            repartition = ChangeRepartition(
                name=source,
                parents=(self._node,),
                origin=caller(),
                topic=(self._given_name or chosen.name) + REPARTITION_SUFFIX,
                sink=sink,
                key=self._key.serde,
                value=ChangeSerde(self._value.internal),
            )
            self._shared = blueprint.add(repartition)
        else:
            blueprint.add_again(self._shared)
        node = Operation(
            name=own_name,
            parents=(self._shared,),
            origin=caller(),
            operator=operator,
            stores=(chosen.spec("timestamped_key_value"),),
            versioned=chosen.is_versioned,
        )
        return self._make_table(
            blueprint,
            blueprint.add(node),
            key=chosen.key,
            value=chosen.value,
            sources=frozenset({blueprint.nodes[self._shared].name}),
            store=chosen.name,
            queryable=chosen.queryable,
        )


def _zero() -> int:
    """Where a count begins."""
    return 0


def _plus_one(key: object, value: object, count: int) -> int:
    """A count with one row more."""
    return count + 1


def _minus_one(key: object, value: object, count: int) -> int:
    """A count with one row less."""
    return count - 1
