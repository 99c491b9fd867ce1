"""Global tables in a worker: one copy per host, which follows its topic as far as the plan says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.log.base import TopicPartition
from headrace.record import TaskId
from headrace.spark.commit import Plan
from headrace.state.disk import Disk, OvertakenError
from headrace.state.environment import MAP_SIZE
from headrace.state.stamps import Held, Stamp, layout
from headrace.task import Moment, Output, StreamTask, global_sub_topology, open_stores
from headrace.topology.nodes import GlobalStoreNode

if TYPE_CHECKING:
    from headrace.spark.runtime import Runtime


def global_path(state_path: Path, store: str) -> Path:
    """Where a host keeps its copy of a global table."""
    return state_path / "global" / store


class GlobalTables:
    """All global tables of an application, as this process sees them."""

    def __init__(self, runtime: Runtime) -> None:
        self._tables = [GlobalTable(runtime, node) for node in runtime.topology.global_stores]
        self.stores: dict[str, Any] = {}
        for table in self._tables:
            self.stores.update(table.stores)

    def follow(self, plan: Plan) -> None:
        """Read every table up to the plan's end of its topic."""
        for table in self._tables:
            table.follow(plan.globals[table.topic])

    def close(self) -> None:
        for table in self._tables:
            table.close()


class GlobalTable:
    """One global table. All processes of a host share its file; whoever comes first reads on, the others see it."""

    def __init__(self, runtime: Runtime, node: GlobalStoreNode) -> None:
        self._runtime = runtime
        self.topic = node.source.topics[0]
        self._layout = {node.store.name: layout(node.store)}
        # A table that another incarnation has read may come from a topic that was deleted since.
        self._stamp = Stamp(runtime.shipment.incarnation, 0, "")
        self._disk = Disk(
            global_path(runtime.state_path, node.store.name),
            {node.store.name: node.store},
            map_size=MAP_SIZE,
            boot=None,
        )
        moment = Moment()
        self.stores = open_stores(
            [node.store],
            runtime.config,
            moment,
            backend=lambda spec: self._disk.backends[spec.name],
            changelog=lambda spec: None,
        )
        self._task = StreamTask(
            global_sub_topology(node),
            TaskId(-1, 0),
            application_id=runtime.config.application_id,
            stores=self.stores,
            output=Output(),
            config=runtime.config,
            clock=runtime.clock,
            moment=moment,
        )
        self._at: list[int] | None = None

    def follow(self, ends: list[int]) -> None:
        """Read up to these offsets. Nothing is done while the topic has not grown."""
        while ends != self._at:
            try:
                self._read(self._disk.open(), ends)
                self._disk.bind()
            except OvertakenError:
                self._disk.rollback()
                continue  # another process of this host has read on: see what it wrote
            self._disk.load_marks()
            self._at = ends

    def _read(self, held: Held, ends: list[int]) -> None:
        known = held.ends or {}
        at = [known.get(str(partition), 0) for partition in range(len(ends))]
        ours = held.stamp == self._stamp and held.layouts == self._layout
        if not ours or any(a > end for a, end in zip(at, ends, strict=True)):
            if held != Held():
                self._disk.clear()
            at = [0] * len(ends)
        elif at == ends:
            return
        log = self._runtime.log
        partitions = [TopicPartition(self.topic, partition) for partition in range(len(ends))]
        first = log.earliest(partitions)
        ranges = {
            tp: (max(at[tp.partition], first[tp]), ends[tp.partition])
            for tp in partitions
            if max(at[tp.partition], first[tp]) < ends[tp.partition]
        }
        self._disk.bind()
        self._disk.load_marks()
        if ranges:
            for chunk in log.read(ranges):
                self._task.process([chunk])
        reached = {str(partition): end for partition, end in enumerate(ends)}
        self._disk.write(Held(self._stamp, ends=reached, layouts=self._layout), undo=False)

    def close(self) -> None:
        self._task.close()
        self._disk.close()
