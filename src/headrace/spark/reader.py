"""Reading a batch in a worker: stateless heads run here, everything else is packed for its task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from headrace.failpoints import failpoint
from headrace.log.arrow import ArrowChunk, to_batch
from headrace.log.base import Chunk, TopicPartition
from headrace.record import TaskId
from headrace.spark.commit import Plan, Report, encode
from headrace.spark.layout import HEAD, Placement
from headrace.spark.outputs import output_rows
from headrace.spark.prints import capture, printed
from headrace.spark.rows import DRIVER, Row, pack_in_parts, with_places
from headrace.spark.runtime import Runtime
from headrace.spark.stopwatch import Stopwatch


def read_rows(runtime: Runtime, plan: Plan, numbers: Sequence[int], *, control: bool) -> Iterator[list[Row]]:
    """The rows of some partition numbers, as they are read."""
    layout = runtime.layout
    runtime.parcels = plan.parcels
    if control:
        packed = encode(plan)
        rows = [Row(runtime.salts[0], DRIVER, "plan", 0, 0, "", 0, packed)]
        if layout.stages > HEAD:
            rows += [
                Row(salt, 1, "control", 0, slot, "", 0, packed) for slot, salt in enumerate(runtime.salts)
            ]
        yield rows
        if layout.globals:
            runtime.begin(plan)  # also without input: the tables are read by queries, too
    ranges = {}
    for topic, ends in plan.ends.items():
        for number in numbers:
            if number < len(ends) and ends[number] > plan.starts[topic][number]:
                ranges[TopicPartition(topic, number)] = (plan.starts[topic][number], ends[number])
    if not ranges:
        return
    failpoint("read.before")
    watch = Stopwatch()
    heads = _Heads(runtime, plan, watch)
    for chunk in runtime.log.read(ranges):
        watch.lap("read")
        placement = layout.reader_of(chunk.topic)
        if placement.stage == HEAD:
            yield from heads.take(placement, chunk)
        else:
            rows = _raw(runtime, placement, chunk)
            watch.lap("read_pack")
            yield rows
        watch.lap("read_send")
    yield from heads.finish()
    watch.lap("read_send")
    report = Report(f"reader-{min(numbers)}", seconds=watch.seconds, began=watch.began)
    yield [Row(runtime.salts[0], DRIVER, "report", 0, 0, "", 0, encode(report))]
    failpoint("read.after")


def _raw(runtime: Runtime, placement: Placement, chunk: Chunk) -> list[Row]:
    """Records for a task of a later stage, as they were in the topic."""
    topic = runtime.layout.node_topic(chunk.topic)
    if runtime.together and not runtime.layout.by_key:
        task, chunk.topic = chunk.partition, topic
        salt = runtime.salts[task % len(runtime.salts)]
        return [Row(salt, placement.stage, "records", placement.sub.id, task, topic, task, b"", chunk)]
    batch = (
        chunk.batch
        if isinstance(chunk, ArrowChunk)
        else to_batch(chunk.keys, chunk.values, chunk.timestamps, chunk.headers)
    )
    batch = with_places(batch, chunk.offsets)
    if not runtime.layout.by_key:
        return _rows(runtime, placement, chunk.partition, topic, chunk.partition, batch)
    targets = runtime.router(placement, topic)(chunk)
    return [
        row
        for task in np.unique(targets)
        for row in _rows(
            runtime,
            placement,
            int(task),
            topic,
            chunk.partition,
            batch.take(pa.array(np.nonzero(targets == task)[0])),
        )
    ]


def _rows(
    runtime: Runtime, placement: Placement, task: int, topic: str, partition: int, batch: pa.RecordBatch
) -> list[Row]:
    salt = runtime.salts[task % len(runtime.salts)]
    return [
        Row(salt, placement.stage, "records", placement.sub.id, task, topic, partition, payload)
        for payload in pack_in_parts(batch, runtime.parcels)
    ]


class _Heads:
    """The stateless sub-topologies of one read. With several topics, all of a partition is read before it is
    processed, since the order over topics is by time.
    """

    def __init__(self, runtime: Runtime, plan: Plan, watch: Stopwatch) -> None:
        self.runtime = runtime
        self.plan = plan
        self.watch = watch
        self.waiting: dict[TaskId, list[Chunk]] = {}
        self.counters: dict[TaskId, dict[str, int]] = {}
        self.records: dict[TaskId, int] = {}
        self.outputs = 0
        self.begun = False

    def take(self, placement: Placement, chunk: Chunk) -> Iterator[list[Row]]:
        task = TaskId(placement.sub.id, chunk.partition)
        self.records[task] = self.records.get(task, 0) + len(chunk)
        if len(placement.topics) > 1:
            self.waiting.setdefault(task, []).append(chunk)
        else:
            yield from self._run(task, [chunk])

    def _run(self, task: TaskId, chunks: list[Chunk]) -> Iterator[list[Row]]:
        if not self.begun:
            self.runtime.begin(self.plan)
            self.begun = True
        head = self.runtime.head(task)
        capture(task, head.task.metadata)
        try:
            head.task.process(chunks)
        except BaseException:
            head.output.clear()
            head.task.take_dropped()
            raise
        self.watch.lap("head")
        shown = printed(self.runtime.salts[0])
        counters = self.counters.setdefault(task, {})
        runtime, taken = self.runtime, head.output.take()
        rows = list(
            output_rows(
                taken,
                runtime.layout,
                runtime.salts,
                task,
                counters,
                together=runtime.together,
                parcels=runtime.parcels,
            )
        )
        self.watch.lap("read_pack")
        if rows or shown:
            yield rows + shown
            self.watch.lap("read_send")

    def finish(self) -> Iterator[list[Row]]:
        for task, chunks in self.waiting.items():
            yield from self._run(task, chunks)
        reports = [
            Row(
                self.runtime.salts[0],
                DRIVER,
                "report",
                task.subtopology,
                task.partition,
                "",
                0,
                encode(Report(str(task), records=count, dropped=self.runtime.head(task).task.take_dropped())),
            )
            for task, count in self.records.items()
        ]
        if reports:
            yield reports
