"""From "the configuration's default" to a serde, for nodes and stores, when an application starts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from headrace.config import StreamsConfig
from headrace.errors import ConfigError, MissingSerdeError, TopicConflictError
from headrace.origin import NOWHERE, Origin
from headrace.serdes import Serde, resolve, serde_for
from headrace.serdes.foreign_key import SubscriptionSerde
from headrace.timestamps import TimestampExtractor, fail_on_invalid_timestamp
from headrace.topology.data import Data, data
from headrace.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode
from headrace.topology.optimization import optimizations_of
from headrace.topology.stores import StoreSpec
from headrace.topology.topology import Topology

AnyNode = TypeVar("AnyNode", SourceNode, Node)

_GENERATED = re.compile(r"-\d{10}(?!\d)")
"""The number in a name that nobody chose."""


class SerdePair(NamedTuple):
    """How a node's or store's keys and values are written."""

    key: Serde[Any]
    value: Serde[Any]


def node_serdes(node: SourceNode | SinkNode, config: StreamsConfig) -> SerdePair:
    """The serdes of a source or sink; MissingSerdeError names the node and the fix."""
    if isinstance(node, SourceNode):
        names = ", ".join(f"`{topic}`" for topic in node.topics)
        what = f"in {names or 'the topics of a pattern'} is read"
    else:
        what = f"for {f'`{node.topic}`' if node.topic else 'a topic chosen per record'} is written"
    return SerdePair(
        _found(node.key, config.default_key, "key", what, node.name, node.origin),
        _found(node.value, _default_value(node.value, config), "value", what, node.name, node.origin),
    )


def extractor_of(node: SourceNode, config: StreamsConfig) -> TimestampExtractor:
    """How a source finds out when a record happened; what comes out of a repartition has its time already."""
    if node.repartition:
        return fail_on_invalid_timestamp
    return node.timestamp_extractor or config.default_timestamp_extractor


def store_serdes(spec: StoreSpec, config: StreamsConfig) -> StoreSpec:
    """The same store with both serdes filled in."""
    what = f"in the store `{spec.name}` is written"
    return replace(
        spec,
        key=_found(spec.key, config.default_key, "key", what, None, spec.origin),
        value=_found(spec.value, _default_value(spec.value, config), "value", what, None, spec.origin),
    )


def resolved_data(topology: Topology, config: StreamsConfig, *, origins: bool = True) -> Data:
    """The topology as data. What is left to the configuration is filled in: another default is another format."""
    subs = [
        replace(
            sub,
            nodes=tuple(_with_serdes(node, config) for node in sub.nodes),
            stores=tuple(store_serdes(store, config) for store in sub.stores),
        )
        for sub in topology.sub_topologies()
    ]
    tables = [
        replace(table, store=store_serdes(table.store, config), source=_with_serdes(table.source, config))
        for table in topology.global_stores
    ]
    return data(subs, tables, topology.repartition_topics, topology.optimizations, origins=origins)


def _with_serdes(node: AnyNode, config: StreamsConfig) -> AnyNode:
    if isinstance(node, ProcessorNode):
        return node
    key, value = node_serdes(node, config)
    if isinstance(node, SourceNode) and not node.repartition and node.offset_reset is None:
        node = replace(node, offset_reset=config.auto_offset_reset)
    return replace(node, key=key, value=value)


def operator_serde(
    serde: Serde[Any] | None, config: StreamsConfig, part: str, node: str, origin: Origin
) -> Serde[Any]:
    """A serde that an operator uses itself; `part` is key or value."""
    default = config.default_key if part == "key" else config.default_value
    return _found(serde, default, part, "is written", node, origin)


def check_topic_names(topology: Topology, config: StreamsConfig) -> None:
    """A topic of the user's must not be one that the application makes for itself."""
    names = [f"{store}-changelog" for store, spec in topology.stores.items() if spec.changelog_topic is None]
    names += [topic.name for topic in topology.repartition_topics]
    # On Spark: what tasks remember, and what has been committed.
    names += [*(f"task-{sub.id}-changelog" for sub in topology.sub_topologies()), "commits"]
    internal = {f"{config.application_id}-{name}" for name in names}
    for node in topology.nodes.values():
        if isinstance(node, ProcessorNode) or node.repartition:
            continue
        for topic in node.topics if isinstance(node, SourceNode) else (node.topic,):
            if topic in internal:
                raise TopicConflictError(
                    f"the topic `{topic}` is an internal one of application `{config.application_id}`: nobody else "
                    "may use it: choose another topic, or another `application_id`",
                    node=node.name,
                    origin=node.origin,
                )
            if topic is not None and topic.startswith("__") and isinstance(node, SinkNode):
                raise TopicConflictError(
                    f"the topic `{topic}` is one of Kafka's own, as its name begins with `__`: choose another",
                    node=node.name,
                    origin=node.origin,
                )


def check_serdes(nodes: Iterable[Node], stores: Iterable[StoreSpec], config: StreamsConfig) -> None:
    """Fail now, not at the first record, when a node or store has no serde."""
    for node in nodes:
        if not isinstance(node, ProcessorNode):
            node_serdes(node, config)
    for spec in stores:
        store_serdes(spec, config)


def check_naming(topology: Topology, config: StreamsConfig) -> None:
    """Refuse generated names of stores and repartition topics, where the configuration says so (KIP-1111)."""
    if not config.ensure_explicit_internal_resource_naming:
        return
    stores = [spec.name for spec in topology.stores.values()]
    topics = [topic.name for topic in topology.repartition_topics]
    generated = [name for name in (*stores, *topics) if _GENERATED.search(name)]
    if generated:
        names = ", ".join(f"`{name}`" for name in generated)
        raise ConfigError(
            f"`ensure_explicit_internal_resource_naming` wants names of your own, but these are generated: {names}; "
            "give the operations `store=`, and what is grouped, joined or repartitioned `name=`"
        )


def check_optimization(optimizations: frozenset[str], config: StreamsConfig) -> None:
    """A topology is optimised when it is built: a configuration that says otherwise would mean nothing."""
    wanted = config.topology_optimization
    if wanted is not None and optimizations_of(wanted, NOWHERE) != optimizations:
        built = ",".join(sorted(optimizations)) or "none"
        raise ConfigError(
            f'`topology_optimization` is "{wanted}", but the topology was built with "{built}": '
            f'build it with `builder.build(optimization="{wanted}")`'
        )


def _default_value(serde: Serde[Any] | None, config: StreamsConfig) -> Any:
    """The default for what is inside: of a subscription that is a key, although it is written as a value."""
    return config.default_key if isinstance(serde, SubscriptionSerde) else config.default_value


def _found(
    serde: Serde[Any] | None, default: Any, part: str, what: str, node: str | None, origin: Origin
) -> Serde[Any]:
    found = resolve(serde, None if default is None else serde_for(default))
    if found is None:
        raise MissingSerdeError(
            f"nothing says how a {part} {what}: pass `{part}=` with its type, "
            f"or set `default_{part}` in the configuration",
            node=node,
            origin=origin,
        )
    return found
