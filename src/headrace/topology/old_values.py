"""Which tables send old values: those that were asked for them while the topology was built."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.topology.nodes import Node, ProcessorNode


def old_values(nodes: Mapping[str, Node]) -> frozenset[str]:
    """The processors whose changes carry the old value of a row."""
    return frozenset(
        name for name, node in nodes.items() if isinstance(node, ProcessorNode) and node.sends_old_values
    )
