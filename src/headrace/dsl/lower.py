"""From the logical graph to a topology."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from headrace.dsl.graph import (
    ChangeRepartition,
    GlobalTableSource,
    Graph,
    LogicalNode,
    Operation,
    Repartition,
    Sink,
    StateStore,
    StreamJoin,
    StreamSource,
    StreamTable,
    TableSource,
)
from headrace.topology import operators
from headrace.topology.nodes import ProcessorNode, RepartitionTopic, SinkNode, SourceNode
from headrace.topology.topology import Topology


def lower(graph: Graph) -> Topology:
    """Write every node into a topology, in order of priority, parents first."""
    topology = Topology()
    for node in _in_order(graph):
        _write(node, topology, tuple(graph.nodes[parent].name for parent in node.parents))
    for node in graph.nodes.values():
        if node.joined_sources:
            topology.copartition(node.joined_sources, node.name, node.origin)
    return topology


def _in_order(graph: Graph) -> Iterator[LogicalNode]:
    children = graph.children()
    waiting = {number: len(node.parents) for number, node in graph.nodes.items()}
    ready = {(node.priority, number) for number, node in graph.nodes.items() if not node.parents}
    missing = {store for node in graph.nodes.values() for store in _stores(node)}
    while ready:
        # The first whose stores are there; if none is, the first of all, and the topology names the missing store.
        order = sorted(ready)
        place = next((place for place in order if missing.isdisjoint(_reads(graph, place))), order[0])
        ready.remove(place)
        node = graph.nodes[place[1]]
        missing.difference_update(_stores(node))
        yield node
        for child in children[node.id]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.add((graph.nodes[child].priority, child))


def _stores(node: LogicalNode) -> tuple[str, ...]:
    if isinstance(node, Operation):
        return tuple(store.name for store in node.stores)
    if isinstance(node, StateStore) or (isinstance(node, StreamTable | TableSource) and node.materialized):
        return (node.store.name,)
    return ()


def _reads(graph: Graph, place: tuple[int, int]) -> tuple[str, ...]:
    node = graph.nodes[place[1]]
    return node.reads if isinstance(node, Operation) else ()


@singledispatch
def _write(node: LogicalNode, topology: Topology, parents: tuple[str, ...]) -> None:
    raise TypeError(f"no way to write {type(node).__name__} into a topology")


@_write.register
def _(node: StreamSource, topology: Topology, parents: tuple[str, ...]) -> None:
    topology.add_node(
        SourceNode(
            node.name,
            node.topics,
            node.pattern,
            node.key,
            node.value,
            node.timestamp_extractor,
            node.offset_reset,
            origin=node.origin,
        )
    )


@_write.register
def _(node: TableSource, topology: Topology, parents: tuple[str, ...]) -> None:
    topology.add_node(
        SourceNode(
            node.source,
            (node.topic,),
            None,
            node.key,
            node.value,
            node.timestamp_extractor,
            node.offset_reset,
            origin=node.origin,
        )
    )
    _write_table(node, topology, (node.source,))


@_write.register
def _(node: StreamTable, topology: Topology, parents: tuple[str, ...]) -> None:
    _write_table(node, topology, parents)


def _write_table(node: StreamTable | TableSource, topology: Topology, parents: tuple[str, ...]) -> None:
    operator = operators.TableSource(node.store.name if node.materialized else None)
    topology.add_node(
        ProcessorNode(
            node.name, operator, parents, sends_old_values=node.sends_old_values, origin=node.origin
        )
    )
    if node.materialized:
        topology.add_state_store(node.store, node.name)


@_write.register
def _(node: GlobalTableSource, topology: Topology, parents: tuple[str, ...]) -> None:
    topology.add_global(node.table)


@_write.register
def _(node: StateStore, topology: Topology, parents: tuple[str, ...]) -> None:
    topology.add_state_store(node.store)


@_write.register
def _(node: Operation, topology: Topology, parents: tuple[str, ...]) -> None:
    topology.add_node(
        ProcessorNode(
            node.name, node.operator, parents, sends_old_values=node.sends_old_values, origin=node.origin
        )
    )
    for store in node.stores:
        if topology.stores.get(store.name) is store:
            # The first of two operations that share a store has brought it.
            topology.connect_processor_and_state_stores(node.name, store.name)
        else:
            topology.add_state_store(store, node.name)
    topology.connect_processor_and_state_stores(node.name, *node.reads)


@_write.register
def _(node: StreamJoin, topology: Topology, parents: tuple[str, ...]) -> None:
    if node.with_itself:
        one, side = node.stores[0], node.operators[0]
        join = operators.StreamSelfJoin(one.name, side.windows, side.joiner, side.with_key)
        topology.add_node(ProcessorNode(node.name, join, node.buffers[:1], origin=node.origin))
        topology.add_state_store(one, (node.buffers[0], node.name))
        return
    for name, operator, buffer in zip(node.sides, node.operators, node.buffers, strict=True):
        topology.add_node(ProcessorNode(name, operator, (buffer,), origin=node.origin))
    topology.add_node(ProcessorNode(node.name, operators.PassThrough(), node.sides, origin=node.origin))
    # Each side fills its own store and reads the other's.
    for store, buffer, reader in zip(node.stores, node.buffers, reversed(node.sides), strict=True):
        topology.add_state_store(store, (buffer, reader))
    if node.shared is not None:
        topology.add_state_store(node.shared, node.sides)


@_write.register
def _(node: Repartition, topology: Topology, parents: tuple[str, ...]) -> None:
    names, origin = node.names, node.origin
    operator = operators.DropNullKeys() if node.drops_null_keys else operators.PassThrough()
    topology.add_repartition_topic(RepartitionTopic(names.topic, node.partitions))
    topology.add_node(ProcessorNode(names.filter, operator, parents, origin=origin))
    topology.add_node(
        SinkNode(
            names.sink,
            names.topic,
            (names.filter,),
            None,
            node.key,
            node.value,
            node.partitioner,
            repartition=True,
            origin=origin,
        )
    )
    topology.add_node(
        SourceNode(names.source, (names.topic,), None, node.key, node.value, repartition=True, origin=origin)
    )


@_write.register
def _(node: ChangeRepartition, topology: Topology, parents: tuple[str, ...]) -> None:
    key, value, origin = node.key, node.value, node.origin
    topology.add_repartition_topic(RepartitionTopic(node.topic))
    topology.add_node(
        SinkNode(
            node.sink,
            node.topic,
            parents,
            None,
            key,
            value,
            node.partitioner,
            repartition=True,
            origin=origin,
        )
    )
    topology.add_node(
        SourceNode(
            node.name,
            (node.topic,),
            None,
            key,
            value,
            repartition=True,
            ahead=node.ahead,
            origin=origin,
        )
    )


@_write.register
def _(node: Sink, topology: Topology, parents: tuple[str, ...]) -> None:
    topology.add_node(
        SinkNode(
            node.name,
            node.topic,
            parents,
            node.extractor,
            node.key,
            node.value,
            node.partitioner,
            origin=node.origin,
        )
    )
