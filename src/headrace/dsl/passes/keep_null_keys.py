"""Repartitions before left joins let records without a key through."""

from __future__ import annotations

from dataclasses import replace

from headrace.dsl.graph import Graph, Repartition


def keep_null_keys(graph: Graph) -> Graph:
    """A repartition lets records without a key through when a left join comes anywhere after it (KIP-962)."""
    children = graph.children()
    relaxed: dict[int, bool] = {}

    def leads_to_left_join(number: int) -> bool:
        if number not in relaxed:
            relaxed[number] = any(
                getattr(graph.nodes[child], "keeps_null_keys", False) or leads_to_left_join(child)
                for child in children[number]
            )
        return relaxed[number]

    nodes = {
        number: replace(node, drops_null_keys=not (node.passes_null_keys or leads_to_left_join(number)))
        if isinstance(node, Repartition)
        else node
        for number, node in graph.nodes.items()
    }
    return replace(graph, nodes=nodes)
