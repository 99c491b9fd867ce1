"""Where the tasks and stores of an application are: Kafka Streams' metadata, as far as it means something here."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.app.metrics import Metrics
from headrace.app.opening import Opened
from headrace.app.states import State
from headrace.config import StreamsConfig
from headrace.errors import InvalidArgumentError, StoreError
from headrace.log.base import TopicPartition
from headrace.partitioning import partition_for
from headrace.record import TaskId
from headrace.resolve import store_serdes
from headrace.spark.commit import CommitRecord
from headrace.spark.layout import HEAD, Layout, Placement
from headrace.topology.nodes import Partitioner


@dataclass(frozen=True, slots=True)
class TaskMetadata:
    """One task: what it reads, and how far it has come."""

    task_id: TaskId
    topic_partitions: frozenset[TopicPartition]
    committed_offsets: Mapping[TopicPartition, int]
    end_offsets: Mapping[TopicPartition, int]
    stage: int
    """Of Spark's query; 0: it runs while its topics are read."""
    store_names: frozenset[str] = frozenset()
    host: str = ""
    """Where it ran last; empty before its first batch."""


@dataclass(frozen=True, slots=True)
class ThreadMetadata:
    """What Kafka Streams calls a thread is here the one query of the application: it has all tasks."""

    thread_name: str
    thread_state: str
    active_tasks: tuple[TaskMetadata, ...]
    standby_tasks: tuple[TaskMetadata, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamsMetadata:
    """A host, and what its tasks have."""

    host: str
    state_store_names: frozenset[str]
    topic_partitions: frozenset[TopicPartition]
    tasks: frozenset[TaskId] = frozenset()


@dataclass(frozen=True, slots=True)
class KeyQueryMetadata:
    """Which task keeps a key, and where that ran last."""

    active_host: str
    partition: int
    standby_hosts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LagInfo:
    """How far a store has followed its changelog."""

    current_offset_position: int
    end_offset_position: int

    @property
    def offset_lag(self) -> int:
        return max(0, self.end_offset_position - self.current_offset_position)


@dataclass(slots=True)
class Metadata:
    """Made from what the driver knows; asks the log only for `ends`."""

    opened: Opened
    config: StreamsConfig
    state: State
    metrics: Metrics
    commit: CommitRecord
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Where the topics end now."""
    restoring: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """(Task, store) -> how far a restore is that runs now."""

    @property
    def layout(self) -> Layout:
        return self.opened.layout

    def tasks(self) -> tuple[TaskMetadata, ...]:
        """Every task, in order."""
        return tuple(
            self._task(placement, task)
            for placement in self.layout.placements
            for task in placement.task_ids()
        )

    def thread(self) -> ThreadMetadata:
        return ThreadMetadata(f"{self.config.application_id}-query", self.state.name, self.tasks())

    def _task(self, placement: Placement, task: TaskId) -> TaskMetadata:
        # After a rescaling a record goes to the task of its key, from whatever partition it comes.
        loose = self.layout.by_key and placement.stage > HEAD
        read = frozenset(
            TopicPartition(topic, number)
            for topic in placement.topics
            for number in range(self.layout.topics[topic])
            if loose or number == task.partition
        )
        return TaskMetadata(
            task,
            read,
            {
                tp: self.commit.positions[tp.topic][tp.partition]
                for tp in read
                if tp.topic in self.commit.positions
            },
            {tp: self.ends[tp] for tp in read if tp in self.ends},
            placement.stage,
            frozenset(spec.name for spec in placement.sub.stores),
            self.host(task),
        )

    def host(self, task: TaskId) -> str:
        """Where a task ran last. What runs while its topics are read has no home, nor does what has not run yet."""
        known = self.metrics.tasks.get(str(task))
        return "" if known is None else known.host

    def hosts(self) -> tuple[StreamsMetadata, ...]:
        """Every host that has tasks; this one, at least."""
        found: dict[str, list[TaskMetadata]] = {}
        for task in self.tasks():
            found.setdefault(task.host or socket.gethostname(), []).append(task)
        return tuple(
            StreamsMetadata(
                host,
                frozenset(name for task in tasks for name in task.store_names),
                frozenset(tp for task in tasks for tp in task.topic_partitions),
                frozenset(task.task_id for task in tasks),
            )
            for host, tasks in sorted(found.items())
        )

    def key(self, store: str, key: Any, partitioner: Partitioner | None = None) -> KeyQueryMetadata:
        """The task that keeps a key: by Kafka's partitioner over its bytes, unless they were placed otherwise."""
        placement, spec = self._placement(store)
        if partitioner is None:
            serde = store_serdes(spec, self.config).key
            assert serde is not None
            partition = partition_for(serde.serialize(key), placement.tasks)
        else:
            topic = next((t for source in placement.sub.sources for t in source.topics), "")
            answer = partitioner(topic, key, None, placement.tasks)
            if not (isinstance(answer, int) and 0 <= answer < placement.tasks):
                raise InvalidArgumentError(
                    f"`partitioner` must answer with a number from 0 to {placement.tasks - 1}, got {answer!r}"
                )
            partition = answer
        return KeyQueryMetadata(self.host(TaskId(placement.sub.id, partition)), partition)

    def _placement(self, store: str) -> tuple[Placement, Any]:
        for placement in self.layout.placements:
            for spec in placement.sub.stores:
                if spec.name == store:
                    return placement, spec
        if store in self.layout.globals:
            raise StoreError(f"`{store}` is a global store: every host has all of it")
        known = ", ".join(f"`{spec.name}`" for p in self.layout.placements for spec in p.sub.stores) or "none"
        raise StoreError(f"there is no store `{store}`; this application has: {known}")

    def lags(self) -> dict[str, dict[int, LagInfo]]:
        """Store -> partition -> how far it has followed its changelog. After a commit that is all of it; less only
        while it is restored.
        """
        found: dict[str, dict[int, LagInfo]] = {}
        for placement in self.layout.placements:
            if placement.stage == HEAD:
                continue
            for spec in placement.sub.stores:
                topic = self.layout.changelog(spec.name)
                own = self.commit.positions if spec.changelog_topic is not None else self.commit.ends
                if not spec.logging and spec.changelog_topic is None:
                    continue
                for task in placement.task_ids():
                    known = own.get(topic, ())
                    end = known[task.partition] if task.partition < len(known) else 0
                    now = self.restoring.get((str(task), spec.name), end)
                    found.setdefault(spec.name, {})[task.partition] = LagInfo(now, end)
        return found
