"""A stream that is joined with itself is kept in one store instead of two (`single.store.self.join`)."""

from __future__ import annotations

from dataclasses import replace

from headrace.dsl.graph import Graph, StreamJoin


def single_store_self_join(graph: Graph) -> Graph:
    """A join whose two sides are one node loses the buffer of its right side.

    As in Kafka Streams a left or outer join becomes the same: every record meets at least itself.
    """
    nodes = dict(graph.nodes)
    numbers = {node.name: number for number, node in graph.nodes.items()}
    for number, node in graph.nodes.items():
        if isinstance(node, StreamJoin) and len(set(node.parents)) == 1:
            del nodes[numbers[node.buffers[1]]]
            nodes[number] = replace(node, parents=node.parents[:1], with_itself=True)
    return replace(graph, nodes=nodes)
