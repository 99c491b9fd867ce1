"""Which nodes belong together: connected by an edge or by a store that they share."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.topology.nodes import Node, ProcessorNode, SourceNode


def node_groups(nodes: Mapping[str, Node]) -> tuple[tuple[str, ...], ...]:
    """The names of each group, in the order of the nodes; groups come in the order of their first node, as in Kafka."""
    leader: dict[str, str] = {name: name for name in nodes}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    users: dict[str, str] = {}
    for node in nodes.values():
        if isinstance(node, SourceNode):
            continue
        for parent in node.parents:
            leader[find(node.name)] = find(parent)
        if isinstance(node, ProcessorNode):
            for store in node.stores:
                leader[find(node.name)] = find(users.setdefault(store, node.name))
    groups: dict[str, list[str]] = {}
    for name in nodes:
        groups.setdefault(find(name), []).append(name)
    return tuple(tuple(group) for group in groups.values())
