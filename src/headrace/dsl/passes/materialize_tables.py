"""Tables that are read by others get their stores."""

from __future__ import annotations

from dataclasses import replace

from headrace.dsl.graph import Graph, LogicalNode, Operation, TableSource


def materialize_tables(graph: Graph) -> Graph:
    """A table that some other node reads needs its store."""
    read = {store for node in graph.nodes.values() if isinstance(node, Operation) for store in node.reads}

    def change(node: LogicalNode) -> LogicalNode:
        if isinstance(node, TableSource) and node.store.name in read:
            return replace(node, materialized=True)
        return node

    return replace(graph, nodes={number: change(node) for number, node in graph.nodes.items()})
