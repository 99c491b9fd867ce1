"""`Topology`: sources, processors, sinks and stores, connected by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

from headrace.errors import InvalidArgumentError
from headrace.offset_reset import OffsetReset
from headrace.origin import caller
from headrace.processor import Processor
from headrace.timestamps import TimestampExtractor
from headrace.topology.arguments import (
    check_offset_reset,
    check_store,
    check_supplier,
    check_topic,
    names_of,
    serde_of,
    stores_of,
    topics_of,
)
from headrace.topology.callbacks import check_callable
from headrace.topology.network import Network
from headrace.topology.nodes import (
    GlobalStoreNode,
    Partitioner,
    ProcessorNode,
    SinkNode,
    SourceNode,
)
from headrace.topology.operators import Process
from headrace.topology.stores import StoreSpec


class Topology(Network):
    """A processing graph, built by hand with the Processor API or by `StreamsBuilder.build()`. Building runs nothing.

    >>> from headrace import Processor, Topology
    >>> class Upper(Processor[str, str, str, str]):
    ...     def process(self, record):
    ...         self.context.forward(record.with_value(record.value.upper()))
    >>> topology = Topology()
    >>> topology.add_source("in", "names").add_processor("upper", Upper, "in").add_sink(
    ...     "out", "loud", "upper"
    ... )
    <Topology of 3 nodes in 1 sub-topology>
    """

    def add_source(
        self,
        name: str,
        topics: str | Sequence[str] | re.Pattern[str],
        *,
        key: Any = None,
        value: Any = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
    ) -> Self:
        """Read one or more topics, or all whose names match a pattern.

        >>> str(Topology().add_source("in", ["a"]).describe()).splitlines()[2]
        '    Source: in (topics: [a])'
        """
        origin = caller()
        pattern = topics if isinstance(topics, re.Pattern) else None
        names = () if isinstance(topics, re.Pattern) else topics_of(topics, origin)
        return self.add_node(
            SourceNode(
                name,
                names,
                pattern,
                serde_of(key),
                serde_of(value),
                timestamp_extractor,
                check_offset_reset(offset_reset, origin),
                origin=origin,
            )
        )

    def add_processor(
        self,
        name: str,
        supplier: Callable[[], Processor[Any, Any, Any, Any]],
        parents: str | Sequence[str],
        *,
        stores: Sequence[str | StoreSpec] = (),
    ) -> Self:
        """Run a processor over what the parents forward. `supplier()` makes a new one for each task.

        >>> topology = Topology().add_source("in", "a")
        >>> topology.add_processor("work", Processor, ["in"]).nodes["work"].parents
        ('in',)
        """
        origin = caller()
        check_supplier(supplier, name, origin)
        self.add_node(ProcessorNode(name, Process(supplier), names_of(parents), origin=origin))
        for store in stores_of(supplier, stores, name, origin):
            if isinstance(store, StoreSpec):
                self.add_state_store(store, name)
            else:
                self.connect_processor_and_state_stores(name, store)
        return self

    def add_sink(
        self,
        name: str,
        topic: str | Callable[[Any, Any, Any], str],
        parents: str | Sequence[str],
        *,
        key: Any = None,
        value: Any = None,
        partitioner: Partitioner | None = None,
    ) -> Self:
        """Write to a topic, or to the one that `topic(key, value, metadata)` names.

        >>> topology = (
        ...     Topology().add_source("in", "a").add_sink("out", lambda key, value, at: f"b-{key}", "in")
        ... )
        >>> topology.nodes["out"].topic is None
        True
        """
        origin = caller()
        if callable(topic):
            check_callable(topic, "topic", "(key, value, metadata)", node=name)
            fixed, extractor = None, topic
        else:
            fixed, extractor = check_topic(topic, origin), None
        sink = SinkNode(
            name,
            fixed,
            names_of(parents),
            extractor,
            serde_of(key),
            serde_of(value),
            partitioner,
            origin=origin,
        )
        return self.add_node(sink)

    def add_state_store(self, store: StoreSpec, processors: str | Sequence[str] = ()) -> Self:
        """Add a store and connect it to processors.

        >>> from headrace import key_value_store
        >>> topology = Topology().add_source("in", "a").add_processor("work", Processor, "in")
        >>> topology.add_state_store(key_value_store("seen", value=int), "work").nodes["work"].stores
        ('seen',)
        """
        check_store(store)
        return self.add_store(store, names_of(processors), caller())

    def connect_processor_and_state_stores(self, processor: str, *stores: str) -> Self:
        """Let a processor use stores that were added before.

        >>> from headrace import key_value_store
        >>> topology = Topology().add_state_store(key_value_store("seen", value=int))
        >>> topology = topology.add_source("in", "a").add_processor("work", Processor, "in")
        >>> topology.connect_processor_and_state_stores("work", "seen").nodes["work"].stores
        ('seen',)
        """
        return self.connect(processor, stores, caller())

    def add_read_only_state_store(
        self,
        store: StoreSpec,
        topic: str,
        *,
        source: str,
        processor: str,
        supplier: Callable[[], Processor[Any, Any, Any, Any]],
        key: Any = None,
        value: Any = None,
        timestamp_extractor: TimestampExtractor | None = None,
    ) -> Self:
        """Add a store that `supplier()`'s processor fills from a topic, which is its changelog as well (KIP-813).

        The processor must put keys and values as they come: a store that is rebuilt is read from the topic without it.
        Other processors that are connected to the store may only read it.

        >>> from headrace import key_value_store
        >>> topology = Topology().add_read_only_state_store(
        ...     key_value_store("prices", value=float),
        ...     "prices",
        ...     source="in",
        ...     processor="put",
        ...     supplier=Processor,
        ... )
        >>> topology.stores["prices"].changelog_topic
        'prices'
        """
        origin = caller()
        check_store(store, "add_read_only_state_store")
        check_supplier(supplier, processor, origin)
        check_topic(topic, origin)
        if store.kind not in ("key_value", "timestamped_key_value") or store.max_entries or store.ttl_ms:
            raise InvalidArgumentError(
                f"a read-only store is a plain key-value store, since its topic is its changelog, got `{store.name}` "
                f"of kind `{store.kind}`",
                node=processor,
                origin=origin,
            )
        self.add_source(source, topic, key=key, value=value, timestamp_extractor=timestamp_extractor)
        self.add_node(ProcessorNode(processor, Process(supplier), (source,), origin=origin))
        filled = replace(
            store, logging=True, log_config=(), changelog_topic=topic, filled_by=processor, origin=origin
        )
        return self.add_store(filled, (processor,), origin)

    def add_global_store(
        self,
        store: StoreSpec,
        topic: str,
        *,
        source: str,
        processor: str,
        supplier: Callable[[], Processor[Any, Any, Any, Any]],
        key: Any = None,
        value: Any = None,
        timestamp_extractor: TimestampExtractor | None = None,
    ) -> Self:
        """Add a store that every host has whole; `supplier()` makes the processor that fills it from the topic.

        >>> from headrace import key_value_store
        >>> rates = key_value_store("rates", value=float, logging=False)
        >>> Topology().add_global_store(rates, "fx", source="fx-in", processor="fx-put", supplier=Processor)
        <Topology of 2 nodes in 0 sub-topologies>
        """
        origin = caller()
        check_store(store, "add_global_store")
        check_supplier(supplier, processor, origin)
        check_topic(topic, origin)
        return self.add_global(
            GlobalStoreNode(
                store,
                SourceNode(
                    source, (topic,), None, serde_of(key), serde_of(value), timestamp_extractor, origin=origin
                ),
                ProcessorNode(processor, Process(supplier), (source,), (store.name,), origin=origin),
            )
        )
