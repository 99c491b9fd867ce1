"""The logical graph between the DSL and the topology: frozen nodes, connected by number.

A pass is a function graph → graph. Priorities are the order in which nodes were added; the topology is written in
that order, parents first, so that sub-topologies are numbered as in Kafka Streams.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headrace.offset_reset import OffsetReset
from headrace.origin import NOWHERE, Origin
from headrace.serdes import Serde
from headrace.timestamps import TimestampExtractor
from headrace.topology.naming import RepartitionNames
from headrace.topology.nodes import GlobalStoreNode, Partitioner
from headrace.topology.operators import Operator, StreamStreamJoin
from headrace.topology.stores import StoreSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicalNode:
    """What all logical nodes have. `name` is the node that children are connected to."""

    id: int = -1
    priority: int = -1
    name: str
    parents: tuple[int, ...] = ()
    joined_sources: frozenset[str] = frozenset()
    """The sources whose topics need the same number of partitions."""
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSource(LogicalNode):
    """Topics, or a pattern, read as a stream."""

    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None = None
    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: OffsetReset | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource(LogicalNode):
    """A topic read as a table; its store is made only when it has a name or something reads it."""

    source: str
    topic: str
    store: StoreSpec
    materialized: bool
    sends_old_values: bool = False
    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: OffsetReset | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTable(LogicalNode):
    """A stream read as a table; its store is made as that of a table's topic is."""

    store: StoreSpec
    materialized: bool
    sends_old_values: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalTableSource(LogicalNode):
    """A topic read whole on every host."""

    table: GlobalStoreNode


@dataclass(frozen=True, slots=True, kw_only=True)
class StateStore(LogicalNode):
    """A store added by the user, connected later."""

    store: StoreSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(LogicalNode):
    """An operator, the stores it brings and those of others that it reads."""

    operator: Operator
    stores: tuple[StoreSpec, ...] = ()
    reads: tuple[str, ...] = ()
    changes_key: bool = False
    changes_value: bool = False
    """Streams: what has to be known to let records through one repartition instead of several."""
    merges: bool = False
    """Two streams become one."""
    written: Serde[Any] | None = None
    """Streams: how the value behind this node is written between sub-topologies; None is the default."""
    keeps_null_keys: bool = False
    """A left join: a record without a key has a result too, so no repartition before it may drop it."""
    sends_old_values: bool = False
    """A table: something behind it asked for the old values of its rows."""
    versioned: bool | None = None
    """A table: whether its store is versioned; None when it has none, and so is what it is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamJoin(LogicalNode):
    """A join of two streams; the nodes that fill the two stores are operations of their own. `name` is the merge's."""

    sides: tuple[str, str]
    """The names of the two joining nodes."""
    buffers: tuple[str, str]
    """The names of the two nodes that fill the stores."""
    operators: tuple[StreamStreamJoin, StreamStreamJoin]
    stores: tuple[StoreSpec, StoreSpec]
    shared: StoreSpec | None
    keeps_null_keys: bool
    with_itself: bool = False
    """Both sides are the same stream, which is kept once: the left buffer does for both, and there is no merge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repartition(LogicalNode):
    """A way through an internal topic. `name` is the source behind it."""

    names: RepartitionNames
    key: Serde[Any] | None
    value: Serde[Any] | None
    drops_null_keys: bool = True
    passes_null_keys: bool = False
    """What comes behind it has a use for records without a key."""
    partitioner: Partitioner | None = None
    partitions: int | None = None
    optimizable: bool = True
    """Made by the library, not by `repartition()`: a pass may merge it with others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRepartition(LogicalNode):
    """The way of what tables tell each other through an internal topic: changes of a grouped table, subscriptions and
    answers of a foreign-key join. `name` is the source behind it.
    """

    topic: str
    sink: str
    key: Serde[Any] | None
    value: Serde[Any]
    partitioner: Partitioner | None = None
    ahead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink(LogicalNode):
    """A topic that is written."""

    topic: str | None
    extractor: Callable[[Any, Any, Any], str] | None
    key: Serde[Any] | None
    value: Serde[Any] | None
    partitioner: Partitioner | None


@dataclass(frozen=True, slots=True)
class Graph:
    """All nodes by number."""

    nodes: dict[int, LogicalNode]
    names: int = 0
    """How many numbers names have used up: a pass that makes a node goes on from there."""

    def children(self) -> dict[int, list[int]]:
        """The children of every node."""
        found: dict[int, list[int]] = {number: [] for number in self.nodes}
        for node in self.nodes.values():
            for parent in node.parents:
                found[parent].append(node.id)
        return found


Pass: TypeAlias = Callable[[Graph], Graph]
