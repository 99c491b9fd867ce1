"""Global tables in a worker: one copy per host, which follows its topic as far as the plan says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.log.base import Chunk, TopicPartition
from headrace.record import TaskId
from headrace.state.disk import Disk, OvertakenError
from headrace.state.environment import MAP_SIZE
from headrace.state.stamps import Held, Stamp, layout
from headrace.task import (
    Moment,
    Output,
    StreamTask,
    global_sub_topology,
    open_stores,
    protect,
    writable,
)
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

    def follow(self, ends: Mapping[str, list[int]], ids: Mapping[str, str]) -> None:
        """Read every table up to these offsets of its topic; `ids` tell the topics from others of the same names."""
        for table in self._tables:
            table.follow(ends[table.topic], ids.get(table.topic, ""))

    def close(self) -> None:
        for table in self._tables:
            table.close()


class GlobalTable:
    """One global table. All processes of a host share its file; whoever comes first reads on, the others see it."""

    def __init__(self, runtime: Runtime, node: GlobalStoreNode) -> None:
        self._runtime = runtime
        self.topic = node.source.topics[0]
        # A table that is fed by another topic now has to be filled anew.
        self._layout = {node.store.name: f"{layout(node.store)}/{self.topic}"}
        self._stamp: Stamp | None = None
        self._disk = Disk(
            global_path(runtime.state_path, node.store.name),
            {node.store.name: node.store},
            map_size=MAP_SIZE,
            boot=None,
        )
        self._node = node
        self._moment = Moment()
        self.stores = open_stores(
            [node.store],
            runtime.config,
            self._moment,
            backend=lambda spec: self._disk.backends[spec.name],
            changelog=lambda spec: None,
        )
        self._task: StreamTask | None = None
        self._at: list[int] | None = None
        """How far the topic is read, as this process has seen it."""

    def follow(self, ends: list[int], topic_id: str) -> None:
        """Read up to these offsets. Nothing is done while the topic has not grown."""
        if self._stamp is None:
            # What was read of a topic that was made anew since, or by another incarnation, is worth nothing.
            self._stamp = Stamp(self._runtime.shipment.incarnation, 0, topic_id)
        while ends != self._at:
            try:
                self._read(self._disk.open(), ends)
                self._disk.bind()
            except OvertakenError:
                self._disk.rollback()
                self._at = None
                continue  # another process of this host has read on: see what it wrote
            except BaseException:
                self._at = None
                raise
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
            self._at = None
        elif at == ends:
            if at != self._at:
                self._disk.bind()
                self._disk.load_marks()
                self._see_anew()
                self._disk.unbind()
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
        if at != self._at:
            self._see_anew()
        if ranges:
            self._fill(log.read(ranges))
        reached = {str(partition): end for partition, end in enumerate(ends)}
        self._disk.write(Held(self._stamp, ends=reached, layouts=self._layout), undo=False)

    def _fill(self, chunks: Iterable[Chunk]) -> None:
        assert self._task is not None
        with writable(self.stores.values()):
            for chunk in chunks:
                self._task.process([chunk])
            self._task.flush()

    def _see_anew(self) -> None:
        """What a user's own processor or store has in memory is not what another process has written."""
        if self._task is None or self._task.has_users_state:
            self._task = self._make_task()
            protect(self.stores.values())

    def _make_task(self) -> StreamTask:
        runtime = self._runtime
        return StreamTask(
            global_sub_topology(self._node),
            TaskId(-1, 0),
            application_id=runtime.config.application_id,
            stores=self.stores,
            output=Output(),
            config=runtime.config,
            clock=runtime.clock,
            moment=self._moment,
        )

    def close(self) -> None:
        if self._task is not None:
            self._task.close()
        self._disk.close()
