"""Who is behind a versioned table has to know (KIP-914)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.dsl.graph import Graph, LogicalNode, Operation
from headrace.dsl.versioned import is_versioned


def tell_versioned(graph: Graph) -> Graph:
    """Tell the operators that care (they have a field `versioned`) whether they are behind a versioned table."""

    def change(node: LogicalNode) -> LogicalNode:
        if not isinstance(node, Operation) or not hasattr(node.operator, "versioned"):
            return node
        if not any(is_versioned(graph.nodes, parent) for parent in node.parents):
            return node
        operator: Any = node.operator
        return replace(node, operator=replace(operator, versioned=True))

    return replace(graph, nodes={number: change(node) for number, node in graph.nodes.items()})
