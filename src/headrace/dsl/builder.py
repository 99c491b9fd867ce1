"""`StreamsBuilder`: where a topology begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar, overload

from headrace.dsl.forms import As, form
from headrace.dsl.global_tables import GlobalTables
from headrace.dsl.graph import StateStore, StreamSource, TableSource
from headrace.dsl.handle import Blueprint
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.lower import lower
from headrace.dsl.materialized import Store
from headrace.dsl.passes import rewrite
from headrace.errors import InvalidArgumentError
from headrace.offset_reset import OffsetReset
from headrace.origin import caller
from headrace.timestamps import TimestampExtractor
from headrace.topology.arguments import (
    check_offset_reset,
    check_store,
    topics_of,
)
from headrace.topology.naming import Namer
from headrace.topology.optimization import NO_OPTIMIZATION, Optimization, optimizations_of
from headrace.topology.stores import StoreSpec
from headrace.topology.topology import Topology

K = TypeVar("K")
V = TypeVar("V")


class StreamsBuilder(GlobalTables):
    """Makes streams and tables from topics, and a topology of what is done with them.

    >>> builder = StreamsBuilder()
    >>> builder.stream("lines", value=str).flat_map_values(str.split, value=str).to("words")
    >>> print(builder.build().describe())
    Topologies:
       Sub-topology: 0
        Source: KSTREAM-SOURCE-0000000000 (topics: [lines])
          --> KSTREAM-FLATMAPVALUES-0000000001
        Processor: KSTREAM-FLATMAPVALUES-0000000001 (stores: [])
          --> KSTREAM-SINK-0000000002
          <-- KSTREAM-SOURCE-0000000000
        Sink: KSTREAM-SINK-0000000002 (topic: words)
          <-- KSTREAM-FLATMAPVALUES-0000000001
    <BLANKLINE>
    <BLANKLINE>

    With `persistent=False` the stores of tables, aggregates and joins are in memory, but those whose `Materialized`
    says otherwise and those with history. That is Kafka Streams' `dsl.store.suppliers.class` (or `default.dsl.store`).

    >>> builder = StreamsBuilder(persistent=False)
    >>> table = builder.table("prices", value=float, store="prices")
    >>> builder.build().stores["prices"].persistent
    False
    """

    def __init__(self, *, persistent: bool = True) -> None:
        if not isinstance(persistent, bool):
            raise InvalidArgumentError(f"`persistent` is True or False, got {persistent!r}", origin=caller())
        self._blueprint = Blueprint(KStream, Namer(persistent=persistent))

    @overload
    def stream(
        self,
        topics: str | Sequence[str] | re.Pattern[str],
        *,
        value: As[V],
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
        name: str | None = None,
    ) -> KStream[str, V]: ...
    @overload
    def stream(
        self,
        topics: str | Sequence[str] | re.Pattern[str],
        *,
        key: As[K],
        value: As[V],
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
        name: str | None = None,
    ) -> KStream[K, V]: ...
    @overload
    def stream(
        self,
        topics: str | Sequence[str] | re.Pattern[str],
        *,
        key: As[K],
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
        name: str | None = None,
    ) -> KStream[K, Any]: ...
    @overload
    def stream(
        self,
        topics: str | Sequence[str] | re.Pattern[str],
        *,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
        name: str | None = None,
    ) -> KStream[str, Any]: ...
    def stream(
        self,
        topics: str | Sequence[str] | re.Pattern[str],
        *,
        key: As[Any] | None = None,
        value: As[Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
        name: str | None = None,
    ) -> KStream[Any, Any]:
        """Read topics, or all whose names match a pattern, as a stream of records.

        >>> StreamsBuilder().stream(["web-orders", "shop-orders"], value=dict)
        <KStream of `KSTREAM-SOURCE-0000000000`>
        """
        origin = caller()
        pattern = topics if isinstance(topics, re.Pattern) else None
        node = StreamSource(
            name=self._blueprint.name("KSTREAM-SOURCE-", name),
            origin=origin,
            topics=() if isinstance(topics, re.Pattern) else topics_of(topics, origin),
            pattern=pattern,
            key=form(key).serde,
            value=form(value).serde,
            timestamp_extractor=timestamp_extractor,
            offset_reset=check_offset_reset(offset_reset, origin),
        )
        return KStream(
            self._blueprint,
            self._blueprint.add(node),
            key=form(key),
            value=form(value),
            sources=frozenset({node.name}),
        )

    @overload
    def table(
        self,
        topic: str,
        *,
        value: As[V],
        store: Store[str, V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
        name: str | None = None,
    ) -> KTable[str, V]: ...
    @overload
    def table(
        self,
        topic: str,
        *,
        key: As[K],
        value: As[V],
        store: Store[K, V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
        name: str | None = None,
    ) -> KTable[K, V]: ...
    @overload
    def table(
        self,
        topic: str,
        *,
        key: As[K],
        store: Store[K, Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
        name: str | None = None,
    ) -> KTable[K, Any]: ...
    @overload
    def table(
        self,
        topic: str,
        *,
        store: Store[Any, Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
        name: str | None = None,
    ) -> KTable[str, Any]: ...
    def table(
        self,
        topic: str,
        *,
        key: As[Any] | None = None,
        value: As[Any] | None = None,
        store: Store[Any, Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
        name: str | None = None,
    ) -> KTable[Any, Any]:
        """Read a topic as a table: the latest value of each key; a null value deletes the row.

        The rows are kept in a store when it has a name, or when something (a join) reads them.

        >>> StreamsBuilder().table("users", value=dict, store="users").queryable_store_name
        'users'
        """
        origin = caller()
        chosen, source, processor = self._table_names(topic, key, value, store, name)
        node = TableSource(
            name=processor,
            origin=origin,
            source=source,
            topic=topic,
            store=chosen.spec("timestamped_key_value"),
            materialized=chosen.is_needed,
            key=chosen.key.serde,
            value=chosen.value.serde,
            timestamp_extractor=timestamp_extractor,
            offset_reset=check_offset_reset(offset_reset, origin),
        )
        return KTable(
            self._blueprint,
            self._blueprint.add(node),
            key=chosen.key,
            value=chosen.value,
            sources=frozenset({source}),
            store=chosen.name,
            queryable=chosen.queryable,
        )

    def add_state_store(self, store: StoreSpec) -> StreamsBuilder:
        """Add a store for processors, which name it in `process(..., stores=["name"])`.

        >>> from headrace import key_value_store
        >>> builder = StreamsBuilder().add_state_store(key_value_store("seen", key=str, value=int))
        """
        check_store(store)
        self._blueprint.add(StateStore(name=store.name, origin=caller(), store=store))
        return self

    def build(self, *, optimization: Optimization = NO_OPTIMIZATION) -> Topology:
        """The topology of everything built so far.

        `optimization` is Kafka Streams' `topology.optimization`: "none", "all", or some of
        "reuse.ktable.source.topics" (a table's topic is the changelog of its store), "merge.repartition.topics" (one
        change of the key, one internal topic) and "single.store.self.join" (a stream joined with itself is kept once).
        The results are the same; names of stores and internal topics, and so the state, may not be.

        >>> builder = StreamsBuilder()
        >>> by_city = builder.stream("orders", value=str).select_key(lambda key, city: city)
        >>> table, stream = by_city.group_by_key().count(), by_city.to_table(store="last")
        >>> len(builder.build().repartition_topics), len(builder.build(optimization="all").repartition_topics)
        (2, 1)
        """
        optimizations = optimizations_of(optimization, caller())
        topology = lower(rewrite(self._blueprint.graph(), optimizations))
        topology.optimizations = optimizations
        return topology
