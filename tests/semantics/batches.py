"""A small host that runs a topology in batches, sub-topology after sub-topology, over local stores on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from headrace.config import StreamsConfig
from headrace.log.base import Chunk
from headrace.record import TaskId
from headrace.spark.loops import with_patient_joins
from headrace.state.local import TASK_STORE, Accepted, LocalState, Stamp
from headrace.task import Moment, Output, OutputColumns, StreamTask, open_stores
from headrace.topology.nodes import SubTopology
from headrace.topology.topology import Topology

MEMORY = b"memory"


class HostedTask:
    """One task with its local stores and its changelogs, which are lists here."""

    def __init__(self, topology: Topology, config: StreamsConfig, sub: SubTopology, path: Path) -> None:
        self.topology, self.config, self.sub, self.path = topology, config, sub, path
        self.wall_clock = 0
        self.changelogs: dict[str, list[tuple[bytes, bytes | None, int]]] = {}
        self.accepted = Accepted()
        self.kinds: list[str] = []
        self.batches = 0
        self.open()

    def open(self) -> None:
        self.local = LocalState(self.path / str(len(self.kinds)), self.sub.stores)
        self.renew()

    def renew(self) -> None:
        """A new task over the same files, at the last commit."""
        self.output, self.moment = Output(partitions=lambda topic: 1), Moment()
        self.stores = open_stores(
            self.sub.stores,
            self.config,
            self.moment,
            backend=lambda spec: self.local.backend(spec.name),
            changelog=lambda spec: self.local.changelog(spec.name),
        )
        self.prepare()
        self.task = StreamTask(
            self.sub,
            TaskId(self.sub.id, 0),
            application_id=self.config.application_id,
            stores=self.stores,
            output=self.output,
            config=self.config,
            clock=lambda: self.wall_clock,
            old_values=self.topology.old_values,
            moment=self.moment,
        )
        self.task.restore(self.local.backend(TASK_STORE).get(MEMORY))

    def prepare(self) -> None:
        self.kinds.append(self.local.prepare(self.accepted, self.read_changelog).kind)

    def read_changelog(self, store: str, start: int, end: int) -> Iterator[Chunk]:
        keys, values, timestamps = zip(*self.changelogs[store][start:end], strict=True)
        yield Chunk(store, 0, range(start, end), timestamps, keys, values)

    def run(self, chunks: Sequence[Chunk], *, lose_stores: bool, wall_clock: int) -> list[OutputColumns]:
        self.wall_clock = wall_clock
        if lose_stores:
            self.task.close()
            self.local.close()
            self.open()
        else:
            self.prepare()
        self.task.process(chunks)
        self.task.punctuate(wall_clock)
        self.task.flush()
        snapshot = self.task.snapshot()
        if snapshot is not None:
            self.local.put_memory(MEMORY, snapshot)
        for store, changes in self.local.changes().items():
            self.changelogs.setdefault(store, []).extend(changes)
        self.batches += 1
        stamp = Stamp("test", self.batches, "only")
        self.task.forget_reads()
        if self.local.commit(stamp, self.accepted):
            ends = {store: len(changelog) for store, changelog in self.changelogs.items()}
            self.accepted = Accepted(stamp, ends)
        return self.output.take()


class BatchHost:
    """All tasks of a topology, one partition each."""

    def __init__(self, topology: Topology, config: StreamsConfig, path: Path) -> None:
        subs = [with_patient_joins(sub) for sub in topology.sub_topologies()]
        self.tasks = [HostedTask(topology, config, sub, path / str(sub.id)) for sub in subs]
        self.offsets: dict[str, int] = {}
        self.waiting: dict[str, list[Chunk]] = {}
        """What sub-topologies sent back to those before them: it is read in the next batch."""

    def run(
        self, inputs: Sequence[tuple[str, list[Any]]], *, lose_stores: bool, wall_clock: int = 0
    ) -> list[OutputColumns]:
        """One batch: (topic, [(key, value, timestamp, headers)]); what was written to topics of the user."""
        waiting = self.waiting
        waiting.update((topic, [self.chunk(topic, *zip(*records, strict=True))]) for topic, records in inputs)
        written: list[OutputColumns] = []
        for hosted in self.tasks:
            topics = {topic for source in hosted.sub.sources for topic in source.topics}
            chunks = [chunk for topic in topics for chunk in waiting.pop(topic, [])]
            for taken in hosted.run(chunks, lose_stores=lose_stores, wall_clock=wall_clock):
                if not taken.repartition:
                    written.append(taken)
                    continue
                headers = taken.headers or [()] * len(taken)
                chunk = self.chunk(taken.topic, taken.keys, taken.values, taken.timestamps, headers)
                waiting.setdefault(taken.topic, []).append(chunk)
        return written

    def chunk(self, topic: str, keys: Any, values: Any, timestamps: Any, headers: Any) -> Chunk:
        first = self.offsets.get(topic, 0)
        self.offsets[topic] = first + len(keys)
        return Chunk(topic, 0, range(first, first + len(keys)), timestamps, keys, values, headers)

    def store(self, name: str) -> Any:
        return next(task.stores[name] for task in self.tasks if name in task.stores)

    def close(self) -> None:
        for task in self.tasks:
            task.task.close()
            task.local.close()
