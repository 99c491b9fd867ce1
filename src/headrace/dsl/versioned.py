"""Which tables are versioned (KIP-914).

A table is versioned if its store is. One without a store of its own (a filter, new values) is what it is made of; a
join of two versioned tables is not versioned.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dsl.graph import LogicalNode, Operation, StreamTable, TableSource


def is_versioned(nodes: Mapping[int, LogicalNode], number: int) -> bool:
    """Whether the changes that a node sends on are those of a versioned table."""
    node = nodes[number]
    if isinstance(node, StreamTable | TableSource):
        return node.store.kind == "versioned"
    if isinstance(node, Operation) and node.versioned is not None:
        return node.versioned
    return bool(node.parents) and all(is_versioned(nodes, parent) for parent in node.parents)
