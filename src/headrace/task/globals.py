"""Global tables: every host fills its own copy of the store with a small task over the table's topic."""

from __future__ import annotations

from headrace.topology.nodes import GlobalStoreNode, SubTopology


def global_sub_topology(node: GlobalStoreNode) -> SubTopology:
    """The source and processor of a global store, to be run by a `StreamTask` of its own."""
    return SubTopology(id=-1, nodes=(node.source, node.processor), stores=(node.store,))
