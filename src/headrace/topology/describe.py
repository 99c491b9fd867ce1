"""`describe()`: a topology as data and as Kafka Streams' text, to the letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headrace.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode
from headrace.topology.ordering import SearchTree, hash_order


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """A node with its neighbours; `detail` is what stands in the brackets behind its name."""

    kind: str
    name: str
    detail: str
    successors: tuple[str, ...]
    predecessors: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"    {self.kind}: {self.name} ({self.detail})"]
        if self.kind != "Sink":
            lines.append(f"      --> {', '.join(self.successors) or 'none'}")
        if self.kind != "Source":
            lines.append(f"      <-- {', '.join(self.predecessors) or 'none'}")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class SubTopologyDescription:
    """The nodes of one sub-topology, or of one global store."""

    id: int
    nodes: tuple[NodeDescription, ...]
    is_global: bool = False

    def __str__(self) -> str:
        body = "".join(str(node) for node in self.nodes)
        if self.is_global:
            return f"  Sub-topology: {self.id} for global store (will not generate tasks)\n{body}"
        return f"  Sub-topology: {self.id}\n{body}\n"


@dataclass(frozen=True, slots=True)
class TopologyDescription:
    """What `Topology.describe()` returns; `str()` gives the text."""

    parts: tuple[SubTopologyDescription, ...]

    @property
    def subtopologies(self) -> tuple[SubTopologyDescription, ...]:
        return tuple(part for part in self.parts if not part.is_global)

    @property
    def global_stores(self) -> tuple[SubTopologyDescription, ...]:
        return tuple(part for part in self.parts if part.is_global)

    def __str__(self) -> str:
        return "Topologies:\n " + "".join(str(part) for part in self.parts)


def describe(
    nodes: Mapping[str, Node], groups: Sequence[Sequence[str]], global_sources: frozenset[str]
) -> TopologyDescription:
    """Describe the groups of nodes, numbered in their order."""
    parts = []
    for number, group in enumerate(groups):
        is_global = not global_sources.isdisjoint(group)
        parts.append(SubTopologyDescription(number, _describe_group(nodes, group), is_global))
    return TopologyDescription(tuple(parts))


@dataclass(slots=True, eq=False)
class _Sized:
    """A node and the size of the tree below it, which decides the order in the text."""

    node: Node
    size: int = 1
    successors: SearchTree[_Sized] = field(init=False)
    predecessors: SearchTree[_Sized] = field(init=False)

    def __post_init__(self) -> None:
        self.successors = SearchTree(_larger_first)
        self.predecessors = SearchTree(_larger_first)

    def grow(self, by: int) -> None:
        self.size += by
        for predecessor in self.predecessors:
            predecessor.grow(by)


def _larger_first(one: _Sized, other: _Sized) -> bool:
    return (-one.size, one.node.name) < (-other.size, other.node.name)


def _describe_group(nodes: Mapping[str, Node], group: Sequence[str]) -> tuple[NodeDescription, ...]:
    # Kafka Streams connects the nodes in hash order while their sizes still grow, and the neighbours keep the order
    # that the sizes had at that moment.
    sized = {name: _Sized(nodes[name]) for name in hash_order(group)}
    for item in sized.values():
        for name in dict.fromkeys(parents_of(item.node)):
            parent = sized[name]
            item.predecessors.add(parent)
            parent.successors.add(item)
            parent.grow(item.size)
    ordered = sorted(sized.values(), key=lambda item: (-item.size, item.node.name))
    return tuple(_describe_node(item) for item in ordered)


def parents_of(node: Node) -> tuple[str, ...]:
    """The names of the nodes that forward to this one."""
    return () if isinstance(node, SourceNode) else node.parents


def _describe_node(item: _Sized) -> NodeDescription:
    node = item.node
    if isinstance(node, SourceNode):
        kind, topics = "Source", f"[{', '.join(hash_order(node.topics, copied=True))}]"
        detail = f"topics: {topics if node.pattern is None else node.pattern.pattern}"
    elif isinstance(node, ProcessorNode):
        kind, detail = "Processor", f"stores: [{', '.join(hash_order(hash_order(node.stores), copied=True))}]"
    else:
        kind, detail = "Sink", sink_target(node)
    return NodeDescription(
        kind,
        node.name,
        detail,
        tuple(successor.node.name for successor in item.successors),
        tuple(predecessor.node.name for predecessor in item.predecessors),
    )


def sink_target(node: SinkNode) -> str:
    """Where a sink writes: its topic, or how the topic is chosen."""
    if node.extractor is None:
        return f"topic: {node.topic}"
    # A plain function's own text has its address in it, which would differ from run to run.
    return f"extractor class: {getattr(node.extractor, '__qualname__', None) or node.extractor}"
