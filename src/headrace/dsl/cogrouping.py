"""What all aggregations of cogrouped streams share: an aggregate per stream over one store, and a merge behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.dsl.aggregation import Grouping
from headrace.dsl.forms import Form
from headrace.dsl.graph import Operation
from headrace.dsl.handle import Blueprint, add_repartition
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import Store, StoreChoice, choose_store
from headrace.errors import InvalidArgumentError, OtherBuilderError
from headrace.origin import caller
from headrace.serdes import Serde
from headrace.topology.naming import check_name
from headrace.topology.operators import Operator, PassThrough
from headrace.topology.stores import StoreSpec

if TYPE_CHECKING:
    from headrace.dsl.grouped import KGroupedStream

Aggregator = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Cogrouping:
    """Streams with their aggregators, in order. All aggregations of it share their repartition topics."""

    blueprint: Blueprint
    value: Form
    streams: tuple[tuple[Grouping, Aggregator], ...] = ()
    parents: dict[int, int] = field(default_factory=dict)
    """Repartition nodes by the identity of the grouping in front."""

    def with_stream(self, grouped: KGroupedStream[Any, Any], aggregator: Aggregator) -> Cogrouping:
        """One stream more; one that is there already gets a new aggregator."""
        grouping = getattr(grouped, "_grouping", None)
        if not isinstance(grouping, Grouping):
            raise InvalidArgumentError(
                f"`cogroup` takes a `KGroupedStream`, got {grouped!r}: use `group_by_key` or `group_by` first",
                origin=caller(),
            )
        if grouping.blueprint is not self.blueprint:
            raise OtherBuilderError(
                "all sides must come from the same `StreamsBuilder`, got two: make them with one builder",
                origin=caller(),
            )
        if any(known is grouping for known, _ in self.streams):
            streams = tuple((known, aggregator if known is grouping else old) for known, old in self.streams)
        else:
            streams = (*self.streams, (grouping, aggregator))
        return replace(self, streams=streams)

    @property
    def key(self) -> Form:
        """All streams have the same keys: the first that is known says how they are written."""
        found = self.streams[0][0].key
        for grouping, _ in self.streams[1:]:
            found = found.otherwise(grouping.key)
        return found

    def choose(self, store: Store[Any, Any] | None, value: Form) -> StoreChoice:
        """The store of an aggregation."""
        return choose_store(
            store, self.blueprint.namer, "COGROUPKSTREAM-AGGREGATE-", key=self.key, value=value
        )

    def table(
        self,
        name: str | None,
        chosen: StoreChoice,
        store: StoreSpec,
        operator: Callable[[Aggregator], Operator],
        key: Callable[[Serde[Any] | None], Serde[Any]] | None = None,
    ) -> KTable[Any, Any]:
        """Add an aggregate for each stream and the merge; `key` wraps the table's key serde."""
        if name is not None:
            check_name(name, "name", caller())
        blueprint, origin = self.blueprint, caller()
        parents = [self._parent(grouping, chosen.name) for grouping, _ in self.streams]
        sources = frozenset[str]().union(
            *(
                {blueprint.nodes[parent].name} if grouping.rekeyed else grouping.sources
                for parent, (grouping, _) in zip(parents, self.streams, strict=True)
            )
        )
        aggregates = []
        for number, (parent, (_, aggregator)) in enumerate(zip(parents, self.streams, strict=True)):
            node = Operation(
                name=self._name("COGROUPKSTREAM-AGGREGATE-", name, f"-cogroup-agg-{number}"),
                parents=(parent,),
                origin=origin,
                operator=operator(aggregator),
                # The first brings the store, the others read it.
                stores=() if number else (store,),
                reads=(store.name,) if number else (),
                versioned=chosen.is_versioned,
            )
            aggregates.append(blueprint.add(node))
        merge = Operation(
            name=self._name("COGROUPKSTREAM-MERGE-", name, "-cogroup-merge"),
            parents=tuple(aggregates),
            origin=origin,
            operator=PassThrough(),
            joined_sources=sources,
        )
        return KTable(
            blueprint,
            blueprint.add(merge),
            key=chosen.key if key is None else Form(key(chosen.key.serde)),
            value=chosen.value,
            sources=sources,
            store=chosen.name,
            queryable=chosen.queryable,
        )

    def _parent(self, grouping: Grouping, store: str) -> int:
        if not grouping.rekeyed:
            return grouping.node
        # Names are used up each time, even where an earlier aggregation has made the topic already.
        known = self.parents.get(id(grouping))
        self.parents[id(grouping)] = add_repartition(
            self.blueprint,
            grouping.node,
            grouping.given_name or store,
            key=self.key,
            value=grouping.value,
            reuse=known,
        )
        return self.parents[id(grouping)]

    def _name(self, prefix: str, given: str | None, suffix: str) -> str:
        return self.blueprint.name(prefix, None if given is None else given + suffix)
