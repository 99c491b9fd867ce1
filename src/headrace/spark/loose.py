"""Tasks that are cut loose from the partitions of topics: a record goes to the task of its key (see ADR 0034).

What depends on a task having the partition of its number is changed here: a table's topic is no changelog of its store
any more, since a task would have to read all of it, and an answer to a foreign-key join goes home by its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.config import StreamsConfig
from headrace.errors import StartError
from headrace.log.base import Chunk
from headrace.partitioning import partitions_for
from headrace.resolve import node_serdes
from headrace.serdes import Serde, WindowedSerde
from headrace.serdes.primitives import PrimitiveSerde
from headrace.topology.foreign_key import AnswerSubscribers, AnswerSubscription
from headrace.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode, SubTopology
from headrace.topology.operators import FlatMap, Map, Operator, Process, SelectKey

if TYPE_CHECKING:
    from headrace.spark.layout import Layout

_EXACT = {"string", "bytes", "byte_buffer", "long", "integer", "short", "double", "float"}
"""Formats in which a key has one way to be written."""


def cut_loose(sub: SubTopology) -> SubTopology:
    """The same sub-topology for tasks that have keys and no partitions."""
    nodes = {node.name: node for node in sub.nodes}
    return replace(
        sub,
        nodes=tuple(_home_by_key(node, nodes) for node in sub.nodes),
        stores=tuple(replace(spec, changelog_topic=None) for spec in sub.stores),
    )


def answers(sink: SinkNode, nodes: Mapping[str, Node]) -> bool:
    """Whether it sends the answers of a foreign-key join back."""
    parents = [nodes[parent] for parent in sink.parents]
    return sink.repartition and any(
        isinstance(node, ProcessorNode) and isinstance(node.operator, AnswerSubscription | AnswerSubscribers)
        for node in parents
    )


def changes_key(node: Node, nodes: Mapping[str, Node]) -> ProcessorNode | None:
    """The node on the way from the sources to this one that may give records another key; None: there is none."""
    if isinstance(node, SourceNode):
        return None
    if isinstance(node, ProcessorNode) and gives_keys(node.operator):
        return node
    found = (changes_key(nodes[parent], nodes) for parent in node.parents)
    return next((changer for changer in found if changer is not None), None)


def gives_keys(operator: Operator) -> bool:
    """Whether it may give records another key."""
    return isinstance(operator, Map | FlatMap | SelectKey) or (
        isinstance(operator, Process) and not operator.fixed_key
    )


def by_own_partitioner(source: SourceNode, layout: Layout) -> SinkNode | None:
    """The sink of the application that has placed the records of a source otherwise than by their key, if any."""
    for placement in layout.placements:
        nodes = {node.name: node for node in placement.sub.nodes}
        for sink in placement.sub.sinks:
            if (
                sink.topic is None
                or sink.topic not in source.topics
                or sink.repartition != source.repartition
            ):
                continue
            if sink.partitioner is None:
                continue
            by_key = getattr(sink.partitioner, "places_by_key", False)
            # An id is known where records are shuffled; one that comes back through the log has its key alone.
            if not by_key or (sink.topic in layout.looped and not answers(sink, nodes)):
                return sink
    return None


def check_partitioners(layout: Layout) -> None:
    """Where records go to the task of their key, no other partitioner can say where."""
    for placement in layout.placements:
        for source in placement.sub.sources if placement.stage > 0 else ():
            sink = by_own_partitioner(source, layout)
            if sink is not None and not (sink.repartition and sink.topic not in layout.looped):
                raise StartError(
                    f"application `{layout.application_id}` was rescaled, so that records go to the task of their "
                    f"key, and `{sink.topic}` is written with a partitioner of its own and read again: leave the "
                    "partitioner out, or start afresh with `headrace reset`",
                    node=sink.name,
                    origin=sink.origin,
                )


def _home_by_key(node: Node, nodes: Mapping[str, Node]) -> Node:
    if isinstance(node, SinkNode) and answers(node, nodes):
        return replace(node, partitioner=None)
    return node


def router(source: SourceNode, config: StreamsConfig, tasks: int) -> Callable[[Chunk], Any]:
    """Which task each record of a chunk belongs to. Records without a key stay together by partition."""
    key_bytes = placing_bytes(node_serdes(source, config).key)

    def route(chunk: Chunk) -> Any:
        keys = chunk.keys
        if key_bytes is not None:
            keys = [None if key is None else key_bytes(key) for key in keys]
        found = np.asarray(partitions_for(keys, tasks))
        if None in keys:
            missing = [row for row, key in enumerate(keys) if key is None]
            found = found.copy()
            found[missing] = chunk.partition % tasks
        return found

    return route


def placing_bytes(serde: Serde[Any]) -> Callable[[bytes], bytes] | None:
    """What turns a key into the bytes that decide its task: of a window the key inside, and of what can be written in
    several ways the way in which stores have it. None: the key as it is.
    """
    if isinstance(serde, WindowedSerde):
        return serde.key_bytes
    if isinstance(serde, PrimitiveSerde) and serde.name in _EXACT:
        return None

    def canonical(key: bytes) -> bytes:
        try:
            return serde.serialize(serde.deserialize(key))
        except Exception:
            return key  # its task will find out that it cannot be read

    return canonical
