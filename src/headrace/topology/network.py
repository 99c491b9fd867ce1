"""The nodes and stores of a topology: how they are added, and what a runtime reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Self

from headrace.errors import InvalidArgumentError
from headrace.origin import Origin
from headrace.topology import validate
from headrace.topology.data import Data, canonical, data
from headrace.topology.describe import TopologyDescription, describe
from headrace.topology.groups import node_groups
from headrace.topology.mermaid import mermaid
from headrace.topology.naming import check_name
from headrace.topology.nodes import (
    Copartition,
    GlobalStoreNode,
    Node,
    ProcessorNode,
    RepartitionTopic,
    SinkNode,
    SourceNode,
    SubTopology,
)
from headrace.topology.old_values import old_values
from headrace.topology.stores import StoreSpec


class Network:
    """Nodes connected by name, checked as they come."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._stores: dict[str, StoreSpec] = {}
        self._global_stores: dict[str, GlobalStoreNode] = {}
        self._repartition_topics: dict[str, RepartitionTopic] = {}
        self._copartitioned: list[Copartition] = []
        self.optimizations: frozenset[str] = frozenset()
        """The rewrites of `topology.optimization` that have been done."""

    def add_store(self, store: StoreSpec, processors: Iterable[str], origin: Origin) -> Self:
        """Add a store and connect it to processors."""
        validate.check_new_store(store, self._stores, self._global_stores)
        self._stores[store.name] = store
        for processor in processors:
            self.connect(processor, [store.name], origin)
        return self

    def connect(self, processor: str, stores: Iterable[str], origin: Origin) -> Self:
        """Let a processor use stores that are there; a mistake is shown at the processor's own line."""
        for store in stores:
            at = self._nodes[processor].origin if processor in self._nodes else origin
            validate.check_connection(processor, store, self._nodes, self._stores, self._global_stores, at)
            node = self._nodes[processor]
            if isinstance(node, ProcessorNode) and store not in node.stores:
                self._nodes[processor] = replace(node, stores=(*node.stores, store))
        return self

    def add_node(self, node: Node) -> Self:
        """Add a node that is made already."""
        check_name(node.name, "name", node.origin)
        validate.check_new_name(node, self._nodes)
        validate.check_callbacks(node)
        validate.check_internal_topics(node, self._repartition_topics)
        if isinstance(node, SourceNode):
            validate.check_topics(node, self._sources())
        else:
            node = replace(node, parents=tuple(dict.fromkeys(node.parents)))
            validate.check_parents(node, self._nodes)
        if isinstance(node, SinkNode):
            validate.check_global_topics([node], self._global_stores.values())
        self._nodes[node.name] = node
        return self

    def add_global(self, node: GlobalStoreNode) -> Self:
        """Add a global store that is made already."""
        if node.store.logging:
            raise InvalidArgumentError(
                f"the topic is the changelog of the global store `{node.store.name}`: make it with `logging=False`",
                node=node.processor.name,
                origin=node.source.origin,
            )
        if node.store.ttl_ms:
            raise InvalidArgumentError(
                f"the rows of the global store `{node.store.name}` do not run out, since every host would have its own "
                f"time: leave `ttl` out",
                node=node.processor.name,
                origin=node.source.origin,
            )
        validate.check_new_store(node.store, self._stores, self._global_stores)
        validate.check_global_topics((n for n in self._nodes.values() if isinstance(n, SinkNode)), [node])
        self.add_node(node.source)
        self.add_node(node.processor)
        self._global_stores[node.store.name] = node
        return self

    def add_repartition_topic(self, topic: RepartitionTopic) -> Self:
        """Declare a topic between two sub-topologies."""
        self._repartition_topics[topic.name] = topic
        for node in self._nodes.values():
            validate.check_internal_topics(node, self._repartition_topics)
        return self

    def copartition(self, sources: Iterable[str], node: str, origin: Origin) -> Self:
        """Declare sources whose topics are joined: they need the same number of partitions. The node joins them."""
        self._copartitioned.append(Copartition(frozenset(sources), node, origin))
        validate.check_partitions(self.copartition_groups(), self._repartition_topics, node, origin)
        return self

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
        for sources in (joined.sources for joined in self._copartitioned):
            overlapping = [group for group in groups if group & sources]
            groups = [group for group in groups if not group & sources]
            groups.append(sources.union(*overlapping))
        return tuple(tuple(s for s in self._sources() if s.name in group) for group in groups)

    @property
    def copartitions(self) -> tuple[Copartition, ...]:
        """What joins, and the names of the sources that it joins, in the order of the joins."""
        return tuple(self._copartitioned)

    @property
    def old_values(self) -> frozenset[str]:
        """The processors that must send the old value of a row along with the new one."""
        return old_values(self._nodes)

    def sub_topologies(self) -> tuple[SubTopology, ...]:
        """The parts that run as tasks of their own; numbered as in Kafka Streams, which counts global stores too.

        >>> from headrace import Topology
        >>> [sub.id for sub in Topology().add_source("in", "a").add_source("other", "b").sub_topologies()]
        [0, 1]
        """
        sources = self._global_sources()
        return tuple(
            self._sub_topology(number, group)
            for number, group in enumerate(node_groups(self._nodes))
            if sources.isdisjoint(group)
        )

    def describe(self) -> TopologyDescription:
        """The topology as text (`str`) and as data, in the words of Kafka Streams.

        >>> from headrace import Topology
        >>> print(Topology().add_source("in", "a").add_sink("out", "b", "in").describe())
        Topologies:
           Sub-topology: 0
            Source: in (topics: [a])
              --> out
            Sink: out (topic: b)
              <-- in
        <BLANKLINE>
        <BLANKLINE>
        """
        return describe(self._nodes, node_groups(self._nodes), self._global_sources())

    def to_json(self, *, indent: int | None = None) -> str:
        """The topology as JSON: sub-topologies, nodes, edges, stores and topics.

        >>> from headrace import Topology
        >>> json.loads(Topology().add_source("in", "a").to_json())["subtopologies"][0]["nodes"][0]["topics"]
        ['a']
        """
        return json.dumps(self.to_data(), indent=indent)

    def to_data(self, *, origins: bool = True) -> Data:
        """The topology as dicts and lists: what `to_json` writes.

        >>> from headrace import Topology
        >>> Topology().add_source("in", "a", value=int).to_data()["subtopologies"][0]["nodes"][0]["value"]
        {'format': 'long'}
        """
        return data(
            self.sub_topologies(),
            self.global_stores,
            self.repartition_topics,
            self.optimizations,
            origins=origins,
        )

    def save(self, path: str | Path) -> None:
        """Write the topology to a file, to compare a later version with: see `headrace.topology.compare`.

        The file is JSON, the same for the same topology, and can be kept under version control.

        >>> from headrace import Topology, topology
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Topology().add_source("in", "a").save(folder + "/shop.json")
        ...     topology.load(folder + "/shop.json")
        <SavedTopology of 1 node>
        """
        Path(path).write_text(canonical(self.to_data(origins=False)))

    def to_mermaid(self) -> str:
        """The topology as a Mermaid flowchart.

        >>> from headrace import Topology
        >>> print(Topology().add_source("in", "a").to_mermaid())
        flowchart TD
          subgraph box0["Sub-topology 0"]
            node1["in"]
          end
          topic2{{"a"}}
          topic2 --> node1
        <BLANKLINE>
        """
        return mermaid(self.sub_topologies(), self.global_stores)

    def to_svg(self, title: str = "Topology") -> str:
        """The topology as a picture: one SVG that needs nothing else, light or dark as the reader's screen is.

        >>> from headrace import Topology
        >>> Topology().add_source("in", "a").to_svg().splitlines()[-1]
        '</svg>'
        """
        # Here and not above: every program imports this module, and few draw pictures.
        from headrace.topology.picture.figure import figure
        from headrace.topology.picture.svg import to_svg

        return to_svg(figure(self.to_data()), title)

    def to_html(self, title: str = "Topology") -> str:
        """The same picture in a page of its own, with tables of stores and topics.

        >>> from headrace import Topology
        >>> "<td>a</td>" in Topology().add_source("in", "a").to_html("Shop")
        True
        """
        # Here for the same reason.
        from headrace.topology.picture.page import to_page

        return to_page(self.to_data(), title)

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
