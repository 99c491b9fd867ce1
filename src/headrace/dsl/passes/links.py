"""The edges of a graph while a pass moves nodes about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headrace.dsl.graph import Graph, LogicalNode


class Links:
    """Parents and children by number, each in the order in which they were connected."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = dict(graph.nodes)
        self.parents: dict[int, dict[int, None]] = {}
        self.children: dict[int, dict[int, None]] = {number: {} for number in self.nodes}
        for number, node in self.nodes.items():
            self.parents[number] = dict.fromkeys(node.parents)
            for parent in node.parents:
                self.children[parent][number] = None

    def add_node(self, node: LogicalNode) -> None:
        """A new node without neighbours."""
        self.nodes[node.id] = node
        self.parents[node.id] = {}
        self.children[node.id] = {}

    def connect(self, parent: int, child: int) -> None:
        self.children[parent][child] = None
        self.parents[child][parent] = None

    def disconnect(self, parent: int, child: int) -> None:
        self.children[parent].pop(child, None)
        self.parents[child].pop(parent, None)

    def bypass(self, number: int) -> None:
        """Take a node out: its children become those of its parents."""
        for child in list(self.children[number]):
            for parent in self.parents[number]:
                self.connect(parent, child)
            self.disconnect(number, child)
        for parent in list(self.parents[number]):
            self.disconnect(parent, number)
        del self.nodes[number], self.parents[number], self.children[number]

    def nearest(self, number: int, matches: Callable[[int], bool]) -> int | None:
        """The node itself or the first of its ancestors that matches, looking along one parent after the other."""
        if matches(number):
            return number
        for parent in self.parents[number]:
            found = self.nearest(parent, matches)
            if found is not None:
                return found
        return None

    def node(self, number: int) -> LogicalNode:
        """A node with the parents that it has now."""
        return replace(self.nodes[number], parents=tuple(self.parents[number]))
