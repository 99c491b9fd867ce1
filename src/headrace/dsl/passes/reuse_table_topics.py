"""A table's own topic is the changelog of its store (`reuse.ktable.source.topics`)."""

from __future__ import annotations

from dataclasses import replace

from headrace.dsl.graph import Graph, LogicalNode, TableSource


def reuse_table_topics(graph: Graph) -> Graph:
    """The rows of a table can be read again from its topic: nothing else has to be written.

    As in Kafka Streams this also brings back a store that was made without a changelog. Rows that run out are still in
    the topic: their store keeps a changelog of its own.
    """

    def change(node: LogicalNode) -> LogicalNode:
        if not isinstance(node, TableSource) or node.store.ttl_ms:
            return node
        store = replace(node.store, logging=True, log_config=(), changelog_topic=node.topic)
        return replace(node, store=store)

    return replace(graph, nodes={number: change(node) for number, node in graph.nodes.items()})
