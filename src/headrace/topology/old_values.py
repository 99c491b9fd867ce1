"""Which tables must send old values: those whose children subtract what they added before."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.topology.nodes import Node, ProcessorNode


def old_values(nodes: Mapping[str, Node]) -> frozenset[str]:
    """The processors above an operator that needs the old value of a row."""
    found: set[str] = set()
    for node in nodes.values():
        if isinstance(node, ProcessorNode) and node.operator.needs_old_values:
            found.update(parent for parent in node.parents if isinstance(nodes[parent], ProcessorNode))
    return frozenset(found)
