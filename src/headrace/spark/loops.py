"""Where sub-topologies are not a chain: what goes back to an earlier one, and what that means for those who ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.topology.foreign_key import Subscribe
from headrace.topology.nodes import Node, ProcessorNode, SubTopology


def back_edges(subs: tuple[SubTopology, ...], writers: Mapping[str, list[SubTopology]]) -> set[str]:
    """Repartition topics that close a cycle, found by a depth-first walk from the first sub-topology on.

    Of the two topics between the tables of a foreign-key join it is exactly one, unless both are in one sub-topology.
    """
    reads = {name: sub for sub in subs for s in sub.sources if s.repartition for name in s.topics}
    edges: dict[int, list[tuple[str, int]]] = {sub.id: [] for sub in subs}
    for name, froms in writers.items():
        for sub in froms:
            if name in reads:
                edges[sub.id].append((name, reads[name].id))
    looped: set[str] = set()
    done: set[int] = set()

    def walk(sub: int, path: tuple[int, ...]) -> None:
        for name, target in edges[sub]:
            if target in path or target == sub:
                looped.add(name)
            elif target not in done:
                walk(target, (*path, sub))
        done.add(sub)

    for sub in subs:
        if sub.id not in done:
            walk(sub.id, ())
    return looped


def with_patient_joins(sub: SubTopology) -> SubTopology:
    """The same, but a table that is joined with one of its own sub-topology always asks for an answer.

    Elsewhere an answer is there at the beginning of the next batch, before anything else can change. Here the question
    takes a batch, too: the row that asks may have changed again, so every one of its states needs its own answer.
    """
    own = {topic for source in sub.sources if source.repartition for topic in source.topics}
    asking = {
        parent for sink in sub.sinks if sink.repartition and sink.topic in own for parent in sink.parents
    }

    def patient(node: Node) -> Node:
        if isinstance(node, ProcessorNode) and isinstance(node.operator, Subscribe) and node.name in asking:
            return replace(node, operator=replace(node.operator, always=True))
        return node

    return replace(sub, nodes=tuple(patient(node) for node in sub.nodes))
