"""How a topology is laid out over the stages of one Spark query. Pure: no Spark, no I/O.

A sub-topology without stores and without processors of the user's own runs inside the source reader (the *head*,
stage 0). Every other one runs in the stage of its depth: one more than the deepest one that repartitions into it.
A repartition edge that would point backwards (a cycle of sub-topologies) goes through a real internal topic
into the next batch, as Kafka Streams always does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from headrace.errors import StartError
from headrace.record import TaskId
from headrace.spark.counts import partition_counts
from headrace.spark.loops import back_edges, with_patient_joins
from headrace.spark.loose import cut_loose, gives_keys
from headrace.spark.named_topics import source_topics
from headrace.timestamps import TimestampExtractor, needs_the_past
from headrace.topology.nodes import Node, ProcessorNode, SourceNode, SubTopology
from headrace.topology.operators import MapValuesAsync, Process
from headrace.topology.topology import Topology

HEAD = 0
"""The stage of sub-topologies that run inside the source reader."""


@dataclass(frozen=True)
class Placement:
    """Where a sub-topology runs, on how many partitions, and what it reads from the log."""

    sub: SubTopology
    stage: int
    tasks: int
    topics: tuple[str, ...]
    """Topics read from the log, looped repartition topics included (with their full name)."""

    def task_ids(self) -> list[TaskId]:
        return [TaskId(self.sub.id, number) for number in range(self.tasks)]


@dataclass(frozen=True)
class Layout:
    """All placements, and the topics between them."""

    application_id: str
    placements: tuple[Placement, ...]
    repartitions: Mapping[str, int]
    """Partitions of every repartition topic, by its name without application id."""
    looped: frozenset[str]
    """Repartition topics that go through the log."""
    topics: Mapping[str, int]
    """Partitions of every topic read from the log."""
    globals: Mapping[str, str]
    """Global store -> its topic."""
    global_partitions: Mapping[str, int]
    apart: frozenset[str] = frozenset()
    """Topics that are written, each of whose partitions only one task writes."""
    task_count: int | None = None
    """After a rescaling: how many tasks there are; a record goes to that of its key, whatever partition it is from."""

    @property
    def by_key(self) -> bool:
        """Whether tasks are cut loose from partitions."""
        return self.task_count is not None

    @cached_property
    def stages(self) -> int:
        """How many stages follow the source."""
        return max((p.stage for p in self.placements), default=HEAD)

    @cached_property
    def tasks(self) -> int:
        """The highest number of tasks of any sub-topology."""
        return max((p.tasks for p in self.placements), default=1)

    def by_sub(self, sub: int) -> Placement:
        return next(p for p in self.placements if p.sub.id == sub)

    def reader_of(self, topic: str) -> Placement:
        """The sub-topology that reads a topic of the log."""
        return self._readers[topic]

    @cached_property
    def _readers(self) -> Mapping[str, Placement]:
        return {topic: placement for placement in self.placements for topic in placement.topics}

    def source_of(self, topic: str) -> SourceNode | None:
        """The node that reads a topic of the log; None for one that is not read, or not by a task."""
        placement = self._readers.get(topic)
        known = self.node_topic(topic)
        for source in placement.sub.sources if placement is not None else ():
            if known in source.topics or (source.pattern is not None and source.pattern.fullmatch(topic)):
                return source
        return None

    def node_topic(self, topic: str) -> str:
        """The name under which a source node knows a topic of the log: looped topics lose the application id."""
        short = topic.removeprefix(f"{self.application_id}-")
        return short if short in self.looped and topic != short else topic

    @cached_property
    def repartition_readers(self) -> Mapping[str, tuple[Placement, ...]]:
        """Who reads a repartition topic that is shuffled by Spark."""
        found: dict[str, tuple[Placement, ...]] = {}
        for placement in self.placements:
            for source in placement.sub.sources:
                if source.repartition:
                    for name in source.topics:
                        if name not in self.looped:
                            found[name] = (*found.get(name, ()), placement)
        return found

    def internal_name(self, repartition: str) -> str:
        """The full name of a looped repartition topic."""
        return f"{self.application_id}-{repartition}"

    def changelog(self, store: str) -> str:
        """The changelog topic of a store, unless a source topic serves as one."""
        for placement in self.placements:
            for spec in placement.sub.stores:
                if spec.name == store and spec.changelog_topic is not None:
                    return spec.changelog_topic
        return f"{self.application_id}-{store}-changelog"


def is_head(sub: SubTopology, extractor: TimestampExtractor | None = None) -> bool:
    """Whether nothing in it needs state, a clock or the time so far, so that the source reader can run it."""
    if sub.stores or any(
        source.repartition or needs_the_past(source.timestamp_extractor or extractor)
        for source in sub.sources
    ):
        return False
    # A task that makes calls is closed at the end, and its partitions make theirs side by side.
    return not any(
        isinstance(n, ProcessorNode) and isinstance(n.operator, Process | MapValuesAsync) for n in sub.nodes
    )


def lay_out(
    topology: Topology,
    application_id: str,
    available: Mapping[str, int],
    extractor: TimestampExtractor | None = None,
    task_count: int | None = None,
) -> Layout:
    """Place every sub-topology; `available` are the topics of the log with their partitions, `extractor` is that of
    sources which name none. With `task_count`, tasks are cut loose from the partitions of topics.
    """
    subs = tuple(with_patient_joins(sub) for sub in topology.sub_topologies())
    if task_count is not None:
        subs = tuple(map(cut_loose, subs))
    topics = source_topics(topology, available, application_id)
    writers: dict[str, list[SubTopology]] = {}
    for sub in subs:
        for sink in sub.sinks:
            if sink.repartition and sink.topic is not None:
                writers.setdefault(sink.topic, []).append(sub)
    looped = back_edges(subs, writers)
    depth: dict[int, int] = {}
    for sub in _in_order(subs, writers, looped):
        upstream = [
            depth[writer.id]
            for source in sub.sources
            if source.repartition
            for name in source.topics
            if name not in looped
            for writer in writers.get(name, [])
        ]
        depth[sub.id] = HEAD if is_head(sub, extractor) else 1 + max(upstream, default=HEAD)
    if task_count is None:
        repartitions, tasks = partition_counts(topology, subs, topics, writers, available)
    else:
        looped_counts = {name: available.get(f"{application_id}-{name}", task_count) for name in looped}
        repartitions = {topic.name: task_count for topic in topology.repartition_topics} | looped_counts
        tasks = {
            sub.id: task_count
            if depth[sub.id] > HEAD
            else max(available[t] for source in sub.sources for t in topics[source.name])
            for sub in subs
        }
    placements = tuple(
        Placement(sub, depth[sub.id], tasks[sub.id], _log_topics(sub, topics, looped, application_id))
        for sub in subs
    )
    read = {t: available[t] for s in topics.values() for t in s}
    read |= {f"{application_id}-{name}": repartitions[name] for name in looped}
    global_topics = {g.store.name: g.source.topics[0] for g in topology.global_stores}
    return Layout(
        application_id,
        placements,
        repartitions,
        frozenset(looped),
        read,
        global_topics,
        {topic: available[topic] for topic in global_topics.values()},
        _apart(placements, available),
        task_count,
    )


def _apart(placements: tuple[Placement, ...], available: Mapping[str, int]) -> frozenset[str]:
    """Topics that are written under the keys that were read, by as many tasks as they have partitions."""
    writers: dict[str, list[bool]] = {}
    chosen = frozenset(
        sink.topic
        for p in placements
        for sink in p.sub.sinks
        if sink.repartition and sink.partitioner is not None
    )
    for placement in placements:
        nodes = {node.name: node for node in placement.sub.nodes}
        for sink in placement.sub.sinks:
            if sink.topic is not None and not sink.repartition:
                alike = available.get(sink.topic) == placement.tasks and sink.partitioner is None
                writers.setdefault(sink.topic, []).append(alike and not _changes_key(sink, nodes, chosen))
    return frozenset(topic for topic, keeps in writers.items() if keeps == [True])


def _changes_key(node: Node, nodes: Mapping[str, Node], chosen: frozenset[str | None]) -> bool:
    """Whether something on the way from the sources to this node may give records another key, or another place than
    their key's: the latter in the repartition topics in `chosen`.
    """
    if isinstance(node, SourceNode):
        return not chosen.isdisjoint(node.topics)
    if isinstance(node, ProcessorNode) and gives_keys(node.operator):
        return True
    return any(_changes_key(nodes[parent], nodes, chosen) for parent in node.parents)


def _log_topics(
    sub: SubTopology, topics: Mapping[str, tuple[str, ...]], looped: set[str], application_id: str
) -> tuple[str, ...]:
    found: list[str] = []
    for source in sub.sources:
        if source.repartition:
            found += [f"{application_id}-{name}" for name in source.topics if name in looped]
        else:
            found += topics[source.name]
    return tuple(found)


def _in_order(
    subs: tuple[SubTopology, ...], writers: Mapping[str, list[SubTopology]], looped: set[str]
) -> list[SubTopology]:
    """Sub-topologies, each after those that repartition into it."""
    placed: list[SubTopology] = []
    waiting = list(subs)
    while waiting:
        for sub in waiting:
            needs = [
                w
                for s in sub.sources
                if s.repartition
                for n in s.topics
                if n not in looped
                for w in writers.get(n, [])
            ]
            if all(need in placed for need in needs):
                placed.append(sub)
                waiting.remove(sub)
                break
        else:
            raise StartError(f"sub-topologies {[s.id for s in waiting]} wait for each other")
    return placed
