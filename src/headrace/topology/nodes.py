"""The nodes of a topology: small, frozen, and connected by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headrace.offset_reset import OffsetReset
from headrace.origin import NOWHERE, Origin
from headrace.serdes.base import Serde
from headrace.timestamps import TimestampExtractor
from headrace.topology.operators import Operator
from headrace.topology.stores import StoreSpec

Partitioner: TypeAlias = Callable[[str, Any, Any, int], int | Set[int] | None]
"""(topic, key, value, number of partitions) -> partition, a set of several or none, or None for the default."""


@dataclass(frozen=True, slots=True)
class SourceNode:
    """Reads topics. `repartition` marks an internal topic (its name has no application id in front)."""

    name: str
    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None = None
    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: OffsetReset | None = None
    repartition: bool = False
    ahead: bool = False
    """In a batch its records come before those of other topics, and those of a later node before an earlier one's."""
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ProcessorNode:
    """Runs an operator over what its parents forward."""

    name: str
    operator: Operator
    parents: tuple[str, ...]
    stores: tuple[str, ...] = ()
    sends_old_values: bool = False
    """A table: each change carries the old value of the row, because something behind it asked for that."""
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class SinkNode:
    """Writes to a topic, or to the topic that `extractor(key, value, metadata)` names."""

    name: str
    topic: str | None
    parents: tuple[str, ...]
    extractor: Callable[[Any, Any, Any], str] | None = None
    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    partitioner: Partitioner | None = None
    repartition: bool = False
    origin: Origin = field(default=NOWHERE, compare=False)


Node: TypeAlias = SourceNode | ProcessorNode | SinkNode


@dataclass(frozen=True, slots=True)
class GlobalStoreNode:
    """A store that every host has whole, filled from a topic by its own source and processor."""

    store: StoreSpec
    source: SourceNode
    processor: ProcessorNode


@dataclass(frozen=True, slots=True)
class RepartitionTopic:
    """An internal topic between two sub-topologies; the number of partitions is the upstream's unless given."""

    name: str
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class Copartition:
    """Sources whose topics need the same number of partitions, and the node that joins them."""

    sources: frozenset[str]
    node: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class SubTopology:
    """Nodes that run together in one task, in the order in which they were added."""

    id: int
    nodes: tuple[Node, ...]
    stores: tuple[StoreSpec, ...]

    @property
    def sources(self) -> tuple[SourceNode, ...]:
        return tuple(node for node in self.nodes if isinstance(node, SourceNode))

    @property
    def sinks(self) -> tuple[SinkNode, ...]:
        return tuple(node for node in self.nodes if isinstance(node, SinkNode))
