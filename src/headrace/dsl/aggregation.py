"""What all aggregations of a grouped stream share: the lazy repartition in front, and the table behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from headrace.dsl import hints
from headrace.dsl.forms import UNKNOWN, As, Form, form, hinted
from headrace.dsl.graph import Operation
from headrace.dsl.handle import Blueprint, add_repartition
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import Materialized, StoreChoice, choose_store
from headrace.origin import caller
from headrace.serdes import Serde, serde_for
from headrace.topology.naming import Namer
from headrace.topology.operators import Operator
from headrace.topology.stores import StoreSpec

K = TypeVar("K")


@dataclass(slots=True)
class Grouping:
    """A grouped stream. A name given to the grouping is its repartition topic's, shared by all its aggregations."""

    blueprint: Blueprint
    node: int
    key: Form
    value: Form
    sources: frozenset[str]
    rekeyed: bool
    given_name: str | None
    repartition: int | None = None

    def table(
        self,
        name: str,
        operator: Operator,
        chosen: StoreChoice,
        store: StoreSpec,
        key: Callable[[Serde[Any] | None], Serde[Any]] | None = None,
    ) -> KTable[Any, Any]:
        """Add an aggregation, behind a repartition if the key has changed; `key` wraps the table's key serde."""
        parent, sources = self.node, self.sources
        if self.rekeyed:
            parent = self._repartition(chosen.name)
            sources = frozenset({self.blueprint.nodes[parent].name})
        node = Operation(
            name=name,
            parents=(parent,),
            origin=caller(),
            operator=operator,
            stores=(store,),
            versioned=chosen.is_versioned,
        )
        return KTable(
            self.blueprint,
            self.blueprint.add(node),
            key=chosen.key if key is None else Form(key(chosen.key.serde)),
            value=chosen.value,
            sources=sources,
            store=chosen.name,
            queryable=chosen.queryable,
        )

    def _repartition(self, store: str) -> int:
        shared = None if self.given_name is None else self.repartition
        self.repartition = add_repartition(
            self.blueprint, self.node, self.given_name or store, key=self.key, value=self.value, reuse=shared
        )
        if shared is not None:
            self.blueprint.add_again(shared)
        return self.repartition


def count_store(
    store: str | Materialized[K, int] | None, namer: Namer, key: Form, *, sliding: bool = False
) -> StoreChoice:
    """The store of a count."""
    if isinstance(store, Materialized) and store.name is None and not sliding:
        # Kafka Streams uses up a number here, and so all later names depend on it.
        namer.store("KSTREAM-AGGREGATE-")
    return choose_store(store, namer, "KSTREAM-AGGREGATE-", key=key, value=Form(serde_for(int)))


def aggregate_form(
    value: As[Any] | None, initializer: Callable[[], Any], aggregator: Callable[..., Any]
) -> Form:
    """How an aggregate is written: as said, as the aggregator's annotation says, or as what is started with."""
    started = hinted(hints.result(initializer), UNKNOWN)
    return form(value, hinted(hints.result(aggregator), started))


def zero() -> int:
    """Where a count begins."""
    return 0


def plus_one(key: object, value: object, count: int) -> int:
    """A count with one more record."""
    return count + 1


def plus(key: object, left: int, right: int) -> int:
    """The count of two sessions that became one."""
    return left + right


class ReduceValue:
    """A reducer as an aggregator; the first value never gets here, it is the aggregate."""

    def __init__(self, reducer: Callable[[Any, Any], Any]) -> None:
        self._reducer = reducer

    def __call__(self, key: object, value: Any, so_far: Any) -> Any:
        return self._reducer(so_far, value)


class ReduceSessions:
    """A reducer as a merger of two sessions."""

    def __init__(self, reducer: Callable[[Any, Any], Any]) -> None:
        self._reducer = reducer

    def __call__(self, key: object, left: Any, right: Any) -> Any:
        return self._reducer(left, right)
