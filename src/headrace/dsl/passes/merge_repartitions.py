"""What one change of the key would send through several internal topics goes through one (`merge.repartition.topics`).

The one repartition comes right behind the step that changes the key, and takes the name of the first that it replaces.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias, TypeGuard

from headrace.dsl.graph import ChangeRepartition, Graph, LogicalNode, Operation, Repartition, TableSource
from headrace.dsl.passes.links import Links
from headrace.serdes import Serde
from headrace.topology.naming import Namer, repartition_names
from headrace.topology.operators import Process, StreamGlobalTableJoin

Found: TypeAlias = dict[int, dict[int, None]]
"""The repartitions that each step makes necessary, in order."""


def merge_repartitions(graph: Graph) -> Graph:
    """Replace the repartitions behind each step that changes the key."""
    links, namer, renamed = Links(graph), Namer(graph.names), dict[str, str]()
    for step, repartitions in _with_merges(links, _by_step(links)).items():
        ways = {each: _other_ways(links, step, each) for each in repartitions if each in links.nodes}
        replaced = [each for each, sources in ways.items() if sources is not None]
        if replaced:
            others = {_source(links.nodes[source]) for each in replaced for source in ways[each] or ()}
            one = _one_for(links, step, replaced, namer, others)
            renamed.update({links.nodes[each].name: one.name for each in replaced})
            _replace(links, step, replaced, one)

    def change(node: LogicalNode) -> LogicalNode:
        return replace(
            node, joined_sources=frozenset(renamed.get(name, name) for name in node.joined_sources)
        )

    nodes = {number: change(links.node(number)) for number in links.nodes}
    return replace(graph, nodes=nodes, names=namer.count)


def _by_step(links: Links) -> Found:
    """The repartitions behind each step that changes the key, unless the value is changed in between."""
    found: Found = {}
    for number, node in sorted(links.nodes.items()):
        if _is_step(node):
            found[number] = {}
        elif isinstance(node, Repartition) and node.optimizable:
            step = links.nearest(number, lambda other: _is_step(links.nodes[other]))
            if step is not None and step == links.nearest(number, lambda other: _stops(links.nodes[other])):
                found[step][number] = None
    return found


def _is_step(node: LogicalNode) -> bool:
    # A user's processor may change the key, but Kafka Streams puts no merged repartition behind one.
    return _changes_key(node) and not isinstance(node.operator, Process)


def _changes_key(node: LogicalNode) -> TypeGuard[Operation]:
    return isinstance(node, Operation) and node.changes_key


def _changes_value(node: LogicalNode) -> TypeGuard[Operation]:
    return isinstance(node, Operation) and node.changes_value


def _stops(node: LogicalNode) -> bool:
    # Kafka Streams moves repartitions over these two as well, although they change values.
    return _is_step(node) or (
        _changes_value(node) and not isinstance(node.operator, Process | StreamGlobalTableJoin)
    )


def _with_merges(links: Links, found: Found) -> Found:
    """Where all repartitions of a step come behind a merge of streams, the merge is the place for the one."""
    merges: dict[int, list[int]] = {}
    for number, node in sorted(links.nodes.items()):
        if isinstance(node, Operation) and node.merges:
            merges[number] = [
                step
                for step, repartitions in found.items()
                if all(_below(links, each, number) is not None for each in repartitions)
                and _below(links, number, step) is not None
            ]
    for number, steps in merges.items():
        found[number] = {each: None for step in steps for each in found[step]}
    for step in {step for steps in merges.values() for step in steps}:
        del found[step]
    return found


def _below(links: Links, number: int, step: int) -> int | None:
    """The child of the step through which its records reach a node."""
    return links.nearest(number, lambda other: step in links.parents[other])


def _other_ways(links: Links, step: int, repartition: int) -> list[int] | None:
    """The sources whose records reach the repartition without passing the step; None if it has to stay where it is.

    That is so where a key has changed on such a way, also behind the step: those records would get past the one
    repartition. Kafka Streams lets them.
    """
    sources, seen, waiting = list[int](), set[int](), [repartition]
    entry = _below(links, repartition, step)
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        node, parents = links.nodes[number], links.parents[number]
        if not parents or (isinstance(node, Repartition | ChangeRepartition) and number != repartition):
            sources.append(number)
        elif _changes_key(node) or (step in parents and number != entry):
            return None
        else:
            waiting += [parent for parent in parents if parent != step]
    return sources


def _source(node: LogicalNode) -> str:
    return node.source if isinstance(node, TableSource) else node.name


def _one_for(links: Links, step: int, replaced: list[int], namer: Namer, others: set[str]) -> Repartition:
    """The repartition for all; where records come to it another way too, it has as many partitions as their topics."""
    before = [node for node in map(links.nodes.get, replaced) if isinstance(node, Repartition)]
    names = repartition_names(namer, before[0].names.topic)
    return Repartition(
        id=max(links.nodes) + 1,
        priority=links.nodes[step].priority,
        name=names.source,
        origin=before[0].origin,
        names=names,
        key=next((node.key for node in before if node.key is not None), None),
        value=_value(links, step, before),
        passes_null_keys=any(node.passes_null_keys for node in before),
        joined_sources=frozenset({names.source, *others}) if others else frozenset(),
    )


def _value(links: Links, step: int, replaced: list[Repartition]) -> Serde[Any] | None:
    """The first that says how values are written, if they are still those of the step; else what the step makes."""
    for node in replaced:
        changed = links.nearest(node.id, lambda other: other == step or _changes_value(links.nodes[other]))
        if changed == step and node.value is not None:
            return node.value
    made = links.nodes[step]
    return made.written if isinstance(made, Operation) else None


def _replace(links: Links, step: int, replaced: list[int], one: Repartition) -> None:
    links.add_node(one)
    for number in replaced:
        child = _below(links, number, step)
        if child is not None:  # otherwise an earlier one has moved it already
            links.connect(one.id, child)
            links.disconnect(step, child)
        links.bypass(number)
    links.connect(step, one.id)
