"""What the test driver makes of a scenario on several partitions: one driver per task, chained by hand.

Each task is fed its records in the order in which a task takes them: within a topic, and then over all topics, the
lowest head timestamp first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any

from headrace.config import StreamsConfig
from headrace.partitioning import partition_for
from headrace.record import TaskId
from headrace.spark.layout import Layout, Placement
from headrace.task.lanes import merge_order
from headrace.testing import TopologyTestDriver
from headrace.topology.nodes import SubTopology
from headrace.topology.topology import Topology
from tests.parity.inputs import Batch
from tests.spark.harness import Rec

Writer = tuple[int, int]
"""Sub-topology and number of the task that wrote something."""
Runs = dict[Writer, list[Rec]]
Placed = tuple[int | None, Rec]
"""A record and its partition; None: anywhere."""
Sequences = dict[str, list[list[Rec]]]
"""By topic, the sequences (one of each writer) that a task reads of it."""


class TaskDriver(TopologyTestDriver):
    """One task of a sub-topology. What it repartitions, or writes to a topic that it reads, is not looped back."""

    def __init__(
        self, topology: Topology, config: StreamsConfig, sub: SubTopology, number: int, clock: int
    ) -> None:
        self._sub = sub
        self._task_id = TaskId(sub.id, number)
        self.written: dict[tuple[str, bool], list[Any]] = {}
        super().__init__(topology, config, initial_wall_clock_time=clock)

    def _whole(self, whole: SubTopology) -> SubTopology:
        return self._sub

    def _capture(self) -> None:
        for taken in self._output.take():
            headers = taken.headers or [()] * len(taken)
            chosen = taken.partitions or [None] * len(taken)
            rows = zip(taken.keys, taken.values, taken.timestamps, headers, chosen, strict=True)
            self.written.setdefault((taken.topic, taken.repartition), []).extend(rows)

    def partitions_are(self, topics: Mapping[str, int]) -> None:
        """For sinks that choose a partition."""
        self._output.partitions = topics.__getitem__

    def feed(self, topics: Sequences, clock: int) -> None:
        """Process all, in the order of a task, at this wall-clock time."""
        moved = clock > self._clock()
        self._clock.now = clock
        order = {t: n for n, source in enumerate(self._sub.sources) for t in source.topics}
        lanes = []
        for topic in sorted((t for t in topics if any(topics[t])), key=lambda t: (order.get(t, -1), t)):
            records = list(chain.from_iterable(topics[topic]))
            places = merge_order([[[r.timestamp for r in run]] for run in topics[topic] if run])
            lanes.append([(topic, records[place]) for place in places])
        flat = list(chain.from_iterable(lanes))
        with self.one_commit():
            for place in merge_order([[[record.timestamp for _, record in lane]] for lane in lanes]):
                topic, record = flat[place]
                self.pipe_bytes(topic, *record)
        if moved:
            self.advance_wall_clock_time(timedelta(0))

    def take(self) -> dict[tuple[str, bool], list[Any]]:
        taken, self.written = self.written, {}
        return taken


class Tasks:
    """All tasks of a topology."""

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        layout: Layout,
        topics: Mapping[str, int],
        clock: int = 0,
    ):
        self.layout = layout
        self.topics = topics
        self.clock = clock
        self.placements = sorted(layout.placements, key=lambda placement: placement.stage)
        self.drivers = {
            (placement.sub.id, number): TaskDriver(topology, config, placement.sub, number, clock)
            for placement in self.placements
            for number in range(placement.tasks)
        }
        self.output: dict[str, list[Placed]] = {}
        """By topic, in order."""
        for driver in self.drivers.values():
            driver.partitions_are({**layout.repartitions, **topics})

    def run(self, batch: Batch) -> None:
        """One batch, and those that follow from what it sends back to a topic that is read."""
        self.clock = batch.clock
        waiting = {topic: dict(partitions) for topic, partitions in batch.records.items()}
        waiting = self._batch(waiting)
        while waiting:
            waiting = self._batch(waiting)

    def _batch(self, records: Mapping[str, Mapping[int, list[Rec]]]) -> dict[str, dict[int, list[Rec]]]:
        for topic in self.layout.globals.values():
            for driver in self.drivers.values():
                for _, found in sorted(records.get(topic, {}).items()):
                    for record in found:
                        driver.pipe_bytes(topic, *record)
        shuffled: dict[tuple[str, int], Runs] = {}
        later: dict[str, dict[Writer, list[Placed]]] = {}
        for placement in self.placements:
            for number in range(placement.tasks):
                driver = self.drivers[placement.sub.id, number]
                driver.feed(self._inputs(placement, number, records, shuffled), self.clock)
                for (topic, repartition), rows in driver.take().items():
                    writer = (placement.sub.id, number)
                    self._sent(writer, topic, repartition, rows, shuffled, later)
        return self._published(later)

    def _inputs(
        self,
        placement: Placement,
        number: int,
        records: Mapping[str, Mapping[int, list[Rec]]],
        shuffled: Mapping[tuple[str, int], Runs],
    ) -> Sequences:
        found: Sequences = {}
        for topic in placement.topics:
            name = self.layout.node_topic(topic)
            found[name] = [records.get(topic, {}).get(number, [])]
        for source in placement.sub.sources:
            for topic in source.topics:
                if source.repartition and topic not in self.layout.looped:
                    found[topic] = [run for _, run in sorted(shuffled.get((topic, number), {}).items())]
        return found

    def _sent(
        self,
        writer: Writer,
        topic: str,
        repartition: bool,
        rows: Sequence[Any],
        shuffled: dict[tuple[str, int], Runs],
        later: dict[str, dict[Writer, list[Placed]]],
    ) -> None:
        """What one task wrote to one topic: a sequence for each reader, or a share of the topic."""
        if repartition and topic not in self.layout.looped:
            count = self.layout.repartitions[topic]
            runs: dict[int, list[Rec]] = {}
            for key, value, timestamp, headers, chosen in rows:
                runs.setdefault(_place(key, chosen, count), []).append(Rec(key, value, timestamp, headers))
            for number, run in runs.items():
                shuffled.setdefault((topic, number), {})[writer] = run
            return
        name = self.layout.internal_name(topic) if repartition else topic
        share = [(chosen, Rec(key, value, time, headers)) for key, value, time, headers, chosen in rows]
        later.setdefault(name, {})[writer] = share

    def _published(
        self, later: Mapping[str, Mapping[Writer, list[Placed]]]
    ) -> dict[str, dict[int, list[Rec]]]:
        """The shares of several tasks are merged by time; what is read again is the next batch's."""
        again: dict[str, dict[int, list[Rec]]] = {}
        for topic, writers in later.items():
            shares = [share for _, share in sorted(writers.items())]
            flat = list(chain.from_iterable(shares))
            order = merge_order([[[record.timestamp for _, record in share]] for share in shares])
            count = self.topics.get(topic) or self.layout.topics[topic]
            for place in order:
                chosen, record = flat[place]
                number = None if record.key is None and chosen is None else _place(record.key, chosen, count)
                if topic in self.topics:
                    self.output.setdefault(topic, []).append((number, record))
                if topic in self.layout.topics:
                    again.setdefault(topic, {}).setdefault(number or 0, []).append(record)
        return again

    def store(self, name: str) -> Iterator[Any]:
        """A store of every task that has it; of a global one all have a copy."""
        if name in self.layout.globals:
            yield next(iter(self.drivers.values())).get_state_store(name)
            return
        for driver in self.drivers.values():
            if name in driver.get_all_state_stores():
                yield driver.get_state_store(name)

    def close(self) -> None:
        for driver in self.drivers.values():
            driver.close()


def _place(key: bytes | None, chosen: int | None, count: int) -> int:
    if chosen is not None:
        return chosen
    return 0 if key is None else partition_for(key, count)
