"""What a topology refuses, when a node is added: each mistake has its own error, with the node and the user's line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from headrace.errors import (
    CopartitionError,
    CycleError,
    DuplicateNameError,
    GlobalTopicError,
    InvalidArgumentError,
    TopicConflictError,
    UnknownNodeError,
    UnknownStoreError,
)
from headrace.meant import did_you_mean
from headrace.origin import Origin
from headrace.topology.callbacks import check_callable
from headrace.topology.nodes import (
    GlobalStoreNode,
    Node,
    ProcessorNode,
    RepartitionTopic,
    SinkNode,
    SourceNode,
)
from headrace.topology.stores import StoreSpec


def check_new_name(node: Node, nodes: Mapping[str, Node]) -> None:
    """A node's name must be new."""
    if (other := nodes.get(node.name)) is not None:
        raise DuplicateNameError(
            f"the name `{node.name}` is already taken by the node made at {other.origin}: choose another `name=`",
            node=node.name,
            origin=node.origin,
        )


def check_parents(node: ProcessorNode | SinkNode, nodes: Mapping[str, Node]) -> None:
    """A node needs parents that are there and that forward records."""
    if not node.parents:
        raise InvalidArgumentError(
            "a processor or sink needs at least one parent, got none", node=node.name, origin=node.origin
        )
    for parent in node.parents:
        if parent == node.name:
            raise CycleError(f"`{parent}` cannot be its own parent", node=node.name, origin=node.origin)
        if parent not in nodes:
            raise UnknownNodeError(
                f"there is no node `{parent}` to be the parent of `{node.name}`: add it first{_similar(parent, nodes)}",
                node=node.name,
                origin=node.origin,
            )
        if isinstance(nodes[parent], SinkNode):
            raise InvalidArgumentError(
                f"the sink `{parent}` forwards nothing and cannot be a parent: use the sink's own parent",
                node=node.name,
                origin=node.origin,
            )


def check_topics(source: SourceNode, others: Iterable[SourceNode]) -> None:
    """A topic is read by one source; a pattern must not match a topic of another."""
    if source.pattern is None and not source.topics:
        raise InvalidArgumentError(
            "a source needs at least one topic, got none", node=source.name, origin=source.origin
        )
    for other in others:
        for topic in source.topics:
            if topic in other.topics or _matches(other.pattern, topic):
                raise _conflict(f"the topic `{topic}`", source, other)
        for topic in other.topics:
            if _matches(source.pattern, topic):
                raise _conflict(f"the topic `{topic}`, which the pattern matches,", source, other)


def check_callbacks(node: Node) -> None:
    """What is called for a source's or sink's records must be something to call, with what it gets."""
    if isinstance(node, SourceNode) and node.timestamp_extractor is not None:
        _check_callback(node.timestamp_extractor, "timestamp_extractor", "(record, highest time)", node)
    if isinstance(node, SinkNode) and node.partitioner is not None:
        _check_callback(node.partitioner, "partitioner", "(topic, key, value, number of partitions)", node)


def _check_callback(function: object, what: str, takes: str, node: Node) -> None:
    try:
        check_callable(function, what, takes)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(error.message, node=node.name, origin=node.origin) from None


def check_internal_topics(node: Node, repartitions: Mapping[str, RepartitionTopic]) -> None:
    """A topic of the user's must not have the name of one between two sub-topologies: records would go astray."""
    topics: tuple[str | None, ...] = ()
    if not isinstance(node, ProcessorNode) and not node.repartition:
        topics = node.topics if isinstance(node, SourceNode) else (node.topic,)
    for topic in topics:
        if topic in repartitions:
            raise TopicConflictError(
                f"the topic `{topic}` has the name of an internal topic of this topology: "
                "choose another for one of them",
                node=node.name,
                origin=node.origin,
            )


def check_global_topics(sinks: Iterable[SinkNode], stores: Iterable[GlobalStoreNode]) -> None:
    """A global table follows its topic on every host: what the topology writes there would come back unordered."""
    read = {topic: store.source.name for store in stores for topic in store.source.topics}
    for sink in sinks:
        if sink.topic in read:
            raise GlobalTopicError(
                f"the topic `{sink.topic}` is the global table of `{read[sink.topic]}` and cannot be written by the "
                f"same topology: write to another topic, or read it with `table`",
                node=sink.name,
                origin=sink.origin,
            )


def check_new_store(
    spec: StoreSpec, stores: Mapping[str, StoreSpec], global_stores: Mapping[str, GlobalStoreNode]
) -> None:
    """A store's name must be new, unless it is the very same store: two that look alike would mix their rows."""
    shared = global_stores.get(spec.name)
    other = stores.get(spec.name) if shared is None else shared.store
    if other is not None and (other is not spec or shared is not None):
        raise DuplicateNameError(
            f"the store name `{spec.name}` is already taken by the store made at {other.origin}: choose another name",
            node=spec.name,
            origin=spec.origin,
        )


def check_connection(
    processor: str,
    store: str,
    nodes: Mapping[str, Node],
    stores: Mapping[str, StoreSpec],
    global_stores: Mapping[str, GlobalStoreNode],
    origin: Origin,
) -> None:
    """A store is connected to a processor; global stores are open to all and are not connected."""
    node = nodes.get(processor)
    if node is None:
        raise UnknownNodeError(
            f"there is no processor `{processor}` to connect the store `{store}` to{_similar(processor, nodes)}",
            node=processor,
            origin=origin,
        )
    if not isinstance(node, ProcessorNode):
        raise InvalidArgumentError(
            f"the store `{store}` can only be connected to a processor, not to a source or sink",
            node=processor,
            origin=origin,
        )
    if store in global_stores:
        raise InvalidArgumentError(
            f"the global store `{store}` can be used by every processor: leave it out of `stores`",
            node=processor,
            origin=origin,
        )
    if store not in stores:
        raise UnknownStoreError(
            f"there is no store `{store}`: add it first with `add_state_store`, or pass the store itself"
            f"{_similar(store, stores)}",
            node=processor,
            origin=origin,
        )


def check_partitions(
    groups: Iterable[Sequence[SourceNode]],
    repartitions: Mapping[str, RepartitionTopic],
    node: str,
    origin: Origin,
) -> None:
    """Topics that are joined need the same number of partitions, where all of them say theirs."""
    for group in groups:
        topics = [repartitions.get(topic) for source in group for topic in source.topics]
        counts = {topic.name: topic.partitions for topic in topics if topic is not None}
        if len(counts) < len(topics) or None in counts.values() or len(set(counts.values())) < 2:
            continue
        told = ", ".join(f"`{topic}` has {count}" for topic, count in sorted(counts.items()))
        raise CopartitionError(
            f"joined topics must have the same number of partitions, got {told}: repartition one side like the other",
            node=node,
            origin=origin,
        )


def _conflict(what: str, source: SourceNode, other: SourceNode) -> TopicConflictError:
    return TopicConflictError(
        f"{what} is already read by `{other.name}`, made at {other.origin}: use that stream or table again",
        node=source.name,
        origin=source.origin,
    )


def _matches(pattern: re.Pattern[str] | None, topic: str) -> bool:
    return pattern is not None and pattern.fullmatch(topic) is not None


def _similar(name: str, known: Iterable[str]) -> str:
    hint = did_you_mean(name, known, part=True)
    return f" ({hint})" if hint else ""
