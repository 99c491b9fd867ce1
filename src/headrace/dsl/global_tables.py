"""The part of `StreamsBuilder` that makes what every host has whole: global tables and stores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self, TypeVar, overload

from headrace.dsl.forms import As, form
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.graph import GlobalTableSource
from headrace.dsl.handle import Blueprint
from headrace.dsl.materialized import Store, StoreChoice, choose_store
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.processor import Processor
from headrace.timestamps import TimestampExtractor
from headrace.topology.arguments import check_store, check_supplier, check_topic
from headrace.topology.naming import check_name
from headrace.topology.nodes import GlobalStoreNode, ProcessorNode, SourceNode
from headrace.topology.operators import GlobalTableUpdate, Process
from headrace.topology.stores import StoreSpec

K = TypeVar("K")
V = TypeVar("V")


class GlobalTables:
    """Global tables and stores of a builder, and the names that they share with its other tables."""

    _blueprint: Blueprint

    @overload
    def global_table(
        self,
        topic: str,
        *,
        value: As[V],
        store: Store[str, V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        name: str | None = None,
    ) -> GlobalKTable[str, V]: ...
    @overload
    def global_table(
        self,
        topic: str,
        *,
        key: As[K],
        value: As[V],
        store: Store[K, V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        name: str | None = None,
    ) -> GlobalKTable[K, V]: ...
    @overload
    def global_table(
        self,
        topic: str,
        *,
        key: As[K],
        store: Store[K, Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        name: str | None = None,
    ) -> GlobalKTable[K, Any]: ...
    @overload
    def global_table(
        self,
        topic: str,
        *,
        store: Store[Any, Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        name: str | None = None,
    ) -> GlobalKTable[str, Any]: ...
    def global_table(
        self,
        topic: str,
        *,
        key: As[Any] | None = None,
        value: As[Any] | None = None,
        store: Store[Any, Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        name: str | None = None,
    ) -> GlobalKTable[Any, Any]:
        """Read a topic as a table that every host has whole, to be joined by any key.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().global_table("currencies", value=float)
        <GlobalKTable of `KTABLE-SOURCE-0000000002`>
        """
        origin = caller()
        chosen, source, processor = self._table_names(topic, key, value, store, name)
        # The topic itself is the changelog.
        spec = replace(chosen.spec("timestamped_key_value"), logging=False, log_config=(), caching=False)
        if spec.ttl_ms:
            raise InvalidArgumentError(
                "the rows of a global table do not run out, since every host would have its own time: leave `ttl` "
                "out, or use `table`",
                node=processor,
                origin=origin,
            )
        if spec.kind == "versioned":
            raise InvalidArgumentError(
                "a global table cannot be versioned: leave `history_retention` out, or use `table`",
                node=processor,
                origin=origin,
            )
        table = GlobalStoreNode(
            spec,
            SourceNode(
                source,
                (topic,),
                None,
                chosen.key.serde,
                chosen.value.serde,
                timestamp_extractor,
                origin=origin,
            ),
            ProcessorNode(
                processor, GlobalTableUpdate(chosen.name), (source,), (chosen.name,), origin=origin
            ),
        )
        self._blueprint.add(GlobalTableSource(name=processor, origin=origin, table=table))
        return GlobalKTable(self._blueprint, table, queryable=chosen.queryable)

    def add_global_store(
        self,
        store: StoreSpec,
        topic: str,
        supplier: Callable[[], Processor[Any, Any, Any, Any]],
        *,
        key: As[Any] | None = None,
        value: As[Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        name: str | None = None,
    ) -> Self:
        """Add a store that every host has whole; `supplier()` makes the processor that fills it from the topic.

        >>> from headrace import Processor, StreamsBuilder, key_value_store
        >>> class Put(Processor[str, float, None, None]):
        ...     def process(self, record):
        ...         self.context.get_state_store("rates").put(record.key, record.value)
        >>> rates = key_value_store("rates", value=float, logging=False)
        >>> StreamsBuilder().add_global_store(rates, "fx", Put, value=float).build()
        <Topology of 2 nodes in 0 sub-topologies>
        """
        origin = caller()
        check_store(store, "add_global_store")
        check_topic(topic, origin)
        source, processor = self._node_names(name)
        check_supplier(supplier, processor, origin)
        table = GlobalStoreNode(
            store,
            SourceNode(
                source, (topic,), None, form(key).serde, form(value).serde, timestamp_extractor, origin=origin
            ),
            ProcessorNode(processor, Process(supplier), (source,), (store.name,), origin=origin),
        )
        self._blueprint.add(GlobalTableSource(name=processor, origin=origin, table=table))
        return self

    def _table_names(
        self,
        topic: str,
        key: As[Any] | None,
        value: As[Any] | None,
        store: Store[Any, Any] | None,
        name: str | None,
    ) -> tuple[StoreChoice, str, str]:
        """The store, the source and the processor of a table, in the order in which they use up numbers."""
        check_topic(topic, caller())
        namer = self._blueprint.namer
        chosen = choose_store(store, namer, f"{topic}-", key=form(key), value=form(value))
        return chosen, *self._node_names(name)

    def _node_names(self, name: str | None) -> tuple[str, str]:
        """The source and the processor that fills the store from it."""
        if name is not None:
            check_name(f"{name}-source", "name", caller())
        namer = self._blueprint.namer
        source = namer.node("KSTREAM-SOURCE-", None if name is None else f"{name}-source")
        return source, namer.node("KTABLE-SOURCE-", name)
