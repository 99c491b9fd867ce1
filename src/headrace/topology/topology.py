"""`Topology`: sources, processors, sinks and stores, connected by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from headrace.errors import InvalidArgumentError
from headrace.origin import Origin, caller
from headrace.processor import Processor
from headrace.serdes import serde_for
from headrace.topology import render, validate
from headrace.topology.describe import TopologyDescription, describe
from headrace.topology.groups import node_groups
from headrace.topology.naming import check_name
from headrace.topology.nodes import (
    GlobalStoreNode,
    Node,
    Partitioner,
    ProcessorNode,
    RepartitionTopic,
    SinkNode,
    SourceNode,
    SubTopology,
    TimestampExtractor,
)
from headrace.topology.old_values import old_values
from headrace.topology.operators import Process
from headrace.topology.stores import StoreSpec


class Topology:
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

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._stores: dict[str, StoreSpec] = {}
        self._global_stores: dict[str, GlobalStoreNode] = {}
        self._repartition_topics: dict[str, RepartitionTopic] = {}
        self._copartitioned: list[frozenset[str]] = []

    # The Processor API ---------------------------------------------------------------------------------------------

    def add_source(
        self,
        name: str,
        topics: str | Sequence[str] | re.Pattern[str],
        *,
        key: Any = None,
        value: Any = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: str | None = None,
    ) -> Topology:
        """Read one or more topics, or all whose names match a pattern.

        >>> str(Topology().add_source("in", ["a"]).describe()).splitlines()[2]
        '    Source: in (topics: [a])'
        """
        origin = caller()
        pattern = topics if isinstance(topics, re.Pattern) else None
        names = () if isinstance(topics, re.Pattern) else names_of(topics)
        return self.add_node(
            SourceNode(
                name,
                names,
                pattern,
                _serde(key),
                _serde(value),
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
    ) -> Topology:
        """Run a processor over what the parents forward. `supplier()` makes a new one for each task.

        >>> topology = Topology().add_source("in", "a")
        >>> topology.add_processor("work", Processor, ["in"]).nodes["work"].parents
        ('in',)
        """
        origin = caller()
        check_supplier(supplier, name, origin)
        self.add_node(ProcessorNode(name, Process(supplier), names_of(parents), origin=origin))
        for store in stores:
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
    ) -> Topology:
        """Write to a topic, or to the one that `topic(key, value, metadata)` names.

        >>> topology = (
        ...     Topology().add_source("in", "a").add_sink("out", lambda key, value, at: f"b-{key}", "in")
        ... )
        >>> topology.nodes["out"].topic is None
        True
        """
        fixed, extractor = (topic, None) if isinstance(topic, str) else (None, topic)
        sink = SinkNode(
            name,
            fixed,
            names_of(parents),
            extractor,
            _serde(key),
            _serde(value),
            partitioner,
            origin=caller(),
        )
        return self.add_node(sink)

    def add_state_store(self, store: StoreSpec, processors: str | Sequence[str] = ()) -> Topology:
        """Add a store and connect it to processors.

        >>> from headrace import key_value_store
        >>> topology = Topology().add_source("in", "a").add_processor("work", Processor, "in")
        >>> topology.add_state_store(key_value_store("seen", value=int), "work").nodes["work"].stores
        ('seen',)
        """
        if not isinstance(store, StoreSpec):
            raise InvalidArgumentError(
                f"`add_state_store` takes a store, got {store!r}: make one with `key_value_store(...)`",
                origin=caller(),
            )
        validate.check_new_store(store, self._stores, self._global_stores)
        self._stores[store.name] = store
        for processor in names_of(processors):
            self.connect_processor_and_state_stores(processor, store.name)
        return self

    def connect_processor_and_state_stores(self, processor: str, *stores: str) -> Topology:
        """Let a processor use stores that were added before.

        >>> from headrace import key_value_store
        >>> topology = Topology().add_state_store(key_value_store("seen", value=int))
        >>> topology = topology.add_source("in", "a").add_processor("work", Processor, "in")
        >>> topology.connect_processor_and_state_stores("work", "seen").nodes["work"].stores
        ('seen',)
        """
        origin = caller()
        for store in stores:
            validate.check_connection(
                processor,
                store,
                self._nodes,
                self._stores,
                self._global_stores,
                self._origin(processor, origin),
            )
            node = self._nodes[processor]
            if isinstance(node, ProcessorNode) and store not in node.stores:
                self._nodes[processor] = replace(node, stores=(*node.stores, store))
        return self

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
    ) -> Topology:
        """Add a store that every host has whole; `supplier()` makes the processor that fills it from the topic.

        >>> from headrace import key_value_store
        >>> rates = key_value_store("rates", value=float, logging=False)
        >>> Topology().add_global_store(rates, "fx", source="fx-in", processor="fx-put", supplier=Processor)
        <Topology of 2 nodes in 0 sub-topologies>
        """
        origin = caller()
        check_supplier(supplier, processor, origin)
        return self.add_global(
            GlobalStoreNode(
                store,
                SourceNode(
                    source, (topic,), None, _serde(key), _serde(value), timestamp_extractor, origin=origin
                ),
                ProcessorNode(processor, Process(supplier), (source,), (store.name,), origin=origin),
            )
        )

    # What the DSL adds ---------------------------------------------------------------------------------------------

    def add_node(self, node: Node) -> Topology:
        """Add a node that is made already."""
        check_name(node.name, "name", node.origin)
        validate.check_new_name(node, self._nodes)
        if isinstance(node, SourceNode):
            validate.check_topics(node, self._sources())
        else:
            node = replace(node, parents=tuple(dict.fromkeys(node.parents)))
            validate.check_parents(node, self._nodes)
        if isinstance(node, SinkNode):
            validate.check_global_topics([node], self._global_stores.values())
        self._nodes[node.name] = node
        return self

    def add_global(self, node: GlobalStoreNode) -> Topology:
        """Add a global store that is made already."""
        if node.store.logging:
            raise InvalidArgumentError(
                f"the topic is the changelog of the global store `{node.store.name}`: make it with `logging=False`",
                node=node.processor.name,
                origin=node.source.origin,
            )
        validate.check_new_store(node.store, self._stores, self._global_stores)
        validate.check_global_topics((n for n in self._nodes.values() if isinstance(n, SinkNode)), [node])
        self.add_node(node.source)
        self.add_node(node.processor)
        self._global_stores[node.store.name] = node
        return self

    def add_repartition_topic(self, topic: RepartitionTopic) -> Topology:
        """Declare a topic between two sub-topologies."""
        self._repartition_topics[topic.name] = topic
        return self

    def copartition(self, sources: Iterable[str]) -> Topology:
        """Declare sources whose topics are joined: they need the same number of partitions."""
        self._copartitioned.append(frozenset(sources))
        validate.check_partitions(self.copartition_groups(), self._repartition_topics)
        return self

    # What a runtime reads ------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Every node by name, in the order in which they were added; parents come first."""
        return MappingProxyType(self._nodes)

    @property
    def stores(self) -> Mapping[str, StoreSpec]:
        """Every store by name, without the global ones."""
        return MappingProxyType(self._stores)

    @property
    def global_stores(self) -> tuple[GlobalStoreNode, ...]:
        """The global stores, each with its source and processor."""
        return tuple(self._global_stores.values())

    @property
    def repartition_topics(self) -> tuple[RepartitionTopic, ...]:
        """The topics between sub-topologies, named without the application id."""
        return tuple(self._repartition_topics.values())

    def copartition_groups(self) -> tuple[tuple[SourceNode, ...], ...]:
        """Sources whose topics need the same number of partitions because they are joined."""
        groups: list[frozenset[str]] = []
        for sources in self._copartitioned:
            overlapping = [group for group in groups if group & sources]
            groups = [group for group in groups if not group & sources]
            groups.append(sources.union(*overlapping))
        return tuple(tuple(s for s in self._sources() if s.name in group) for group in groups)

    @property
    def old_values(self) -> frozenset[str]:
        """The processors that must send the old value of a row along with the new one."""
        return old_values(self._nodes)

    def sub_topologies(self) -> tuple[SubTopology, ...]:
        """The parts that run as tasks of their own; numbered as in Kafka Streams, which counts global stores too."""
        sources = self._global_sources()
        return tuple(
            self._sub_topology(number, group)
            for number, group in enumerate(node_groups(self._nodes))
            if sources.isdisjoint(group)
        )

    def describe(self) -> TopologyDescription:
        """The topology as text (`str`) and as data, in the words of Kafka Streams."""
        return describe(self._nodes, node_groups(self._nodes), self._global_sources())

    def to_json(self, *, indent: int | None = None) -> str:
        """The topology as JSON: sub-topologies, nodes, edges, stores and topics."""
        return json.dumps(render.data(self.sub_topologies(), self.global_stores), indent=indent)

    def to_mermaid(self) -> str:
        """The topology as a Mermaid flowchart."""
        return render.mermaid(self.sub_topologies(), self.global_stores)

    def __repr__(self) -> str:
        count = len(self.sub_topologies())
        return f"<Topology of {len(self._nodes)} nodes in {count} sub-topolog{'y' if count == 1 else 'ies'}>"

    def _sub_topology(self, number: int, group: Iterable[str]) -> SubTopology:
        nodes = tuple(self._nodes[name] for name in group)
        names = dict.fromkeys(s for node in nodes if isinstance(node, ProcessorNode) for s in node.stores)
        return SubTopology(number, nodes, tuple(self._stores[name] for name in names))

    def _sources(self) -> list[SourceNode]:
        return [node for node in self._nodes.values() if isinstance(node, SourceNode)]

    def _global_sources(self) -> frozenset[str]:
        return frozenset(node.source.name for node in self._global_stores.values())

    def _origin(self, node: str, fallback: Origin) -> Origin:
        return self._nodes[node].origin if node in self._nodes else fallback


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def check_supplier(supplier: object, node: str, origin: Origin) -> None:
    """A processor has state: each task needs its own, so a supplier must be something to call."""
    if isinstance(supplier, Processor) or not callable(supplier):
        raise InvalidArgumentError(
            f"a processor is made anew for each task: pass the class or a function that returns one, got {supplier!r}",
            node=node,
            origin=origin,
        )


def check_offset_reset(offset_reset: str | None, origin: Origin) -> str | None:
    """Where to start in a topic that has no position yet."""
    if offset_reset not in {None, "earliest", "latest"}:
        raise InvalidArgumentError(
            f'`offset_reset` is "earliest" or "latest", got {offset_reset!r}', origin=origin
        )
    return offset_reset


def _serde(given: Any) -> Any:
    return None if given is None else serde_for(given)
