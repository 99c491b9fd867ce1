"""One application inside one Python worker process: its topology, its log, its tasks. Made once and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from headrace.log import Chunk, TopicLog, log_config, open_log
from headrace.record import TaskId
from headrace.spark.commit import Plan
from headrace.spark.globals import GlobalTables
from headrace.spark.hosted import HostedTask
from headrace.spark.layout import Layout, Placement, lay_out
from headrace.spark.loose import router
from headrace.spark.restores import RestoreReporter
from headrace.spark.rows import salts
from headrace.spark.ship import Shipment, resolve, unpack
from headrace.state.local import LocalState
from headrace.task import Moment, Output, StreamTask, open_stores


class Head(NamedTuple):
    """A stateless task and what it writes to."""

    task: StreamTask
    output: Output


_runtimes: dict[str, Runtime] = {}


def runtime_of(application: str) -> Runtime:
    """The runtime of a shipped application in this process."""
    found = _runtimes.get(application)
    if found is None:
        shipment = unpack(application)
        # A worker may outlive a run: what an older run of the same application left is closed.
        same = shipment.config.application_id
        for old in [k for k, runtime in _runtimes.items() if runtime.config.application_id == same]:
            _runtimes.pop(old).close()
        found = _runtimes[application] = Runtime(shipment)
    return found


class Runtime:
    """What a worker knows of an application."""

    def __init__(self, shipment: Shipment) -> None:
        self.shipment = shipment
        self.config = shipment.config
        self.topology = resolve(shipment.topology)
        self.layout: Layout = lay_out(
            self.topology,
            self.config.application_id,
            shipment.topics,
            self.config.default_timestamp_extractor,
            shipment.task_count,
        )
        self.salts = salts(shipment.slots)
        self.state_path = Path(self.config.state_path)
        self.wall_clock = 0
        self.together = False
        """Whether this process does all of the batch."""
        self.parcels: str | None = None
        """The folder for large messages to other processes, where they all see it."""
        self.restores = RestoreReporter(shipment.channel)
        self._hosted: dict[TaskId, HostedTask] = {}
        self._heads: dict[TaskId, Head] = {}
        self._routers: dict[str, Callable[[Chunk], Any]] = {}

    @cached_property
    def log(self) -> TopicLog:
        """Opened after the fork, and kept."""
        return open_log(log_config(self.config))

    @cached_property
    def global_tables(self) -> GlobalTables:
        return GlobalTables(self)

    def begin(self, plan: Plan) -> None:
        """What holds for the whole batch: its time, and the global tables read as far as it says."""
        self.wall_clock = plan.wall_clock
        self.global_tables.follow(plan.globals, plan.base.topic_ids)

    def clock(self) -> int:
        """Wall clock inside a task is the batch's recorded time."""
        return self.wall_clock

    def head(self, task_id: TaskId) -> Head:
        """A stateless task that runs while reading."""
        found = self._heads.get(task_id)
        if found is None:
            placement = self.layout.by_sub(task_id.subtopology)
            output = self.new_output()
            task = self._task(placement, task_id, {}, Moment(), output)
            found = self._heads[task_id] = Head(task, output)
        return found

    def tasks_of(self, stage: int, slot: int) -> list[TaskId]:
        """The tasks of all sub-topologies of a stage whose number falls into a slot, in the order they run."""
        return [
            task_id
            for placement in self.layout.placements
            if placement.stage == stage
            for task_id in placement.task_ids()
            if task_id.partition % len(self.salts) == slot
        ]

    def router(self, placement: Placement, topic: str) -> Callable[[Chunk], Any]:
        """Which tasks the records of a topic belong to, where they go by key."""
        found = self._routers.get(topic)
        if found is None:
            source = next(
                source
                for source in placement.sub.sources
                if topic in source.topics or (source.pattern is not None and source.pattern.fullmatch(topic))
            )
            found = self._routers[topic] = router(source, self.config, placement.tasks)
        return found

    def hosted(self, task_id: TaskId) -> HostedTask:
        """A task of a later stage, with its local stores."""
        found = self._hosted.get(task_id)
        if found is None:
            found = self._hosted[task_id] = HostedTask(self, task_id)
        return found

    def new_output(self) -> Output:
        """Where a task writes to."""
        return Output(self._partitions)

    def build_task(
        self, placement: Placement, task_id: TaskId, local: LocalState, output: Output
    ) -> StreamTask:
        """A StreamTask over local stores."""
        moment = Moment()
        stores = open_stores(
            placement.sub.stores,
            self.config,
            moment,
            backend=lambda spec: local.backend(spec.name),
            changelog=lambda spec: local.changelog(spec.name),
        )
        return self._task(placement, task_id, stores, moment, output)

    def _task(
        self,
        placement: Placement,
        task_id: TaskId,
        stores: Mapping[str, Any],
        moment: Moment,
        output: Output,
    ) -> StreamTask:
        return StreamTask(
            placement.sub,
            task_id,
            application_id=self.config.application_id,
            stores=stores,
            global_stores=self.global_tables.stores,
            output=output,
            config=self.config,
            clock=self.clock,
            old_values=self.topology.old_values,
            moment=moment,
        )

    def _partitions(self, topic: str) -> int:
        """How many partitions a topic has, for sinks that choose one themselves."""
        known = self.layout.repartitions.get(topic) or self.shipment.topics.get(topic)
        return known if known is not None else self.log.topics()[topic]

    def close(self) -> None:
        """Give back what this process holds: files, connections."""
        for hosted in self._hosted.values():
            hosted.close()
        self._hosted.clear()
        if "global_tables" in self.__dict__:
            self.global_tables.close()
        if "log" in self.__dict__:
            self.log.close()
        self.restores.close()
