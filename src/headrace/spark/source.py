"""What the one source of the query does: plans batches, reads all topics, and runs stateless heads while reading."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable

from headrace.failpoints import failpoint
from headrace.spark.commit import Plan, decode, encode
from headrace.spark.described import HeadraceSource
from headrace.spark.event_times import EventTimes
from headrace.spark.failure import REPORTED, failure_row, pack_failure
from headrace.spark.meeting import extracted_times, meeting_partitions
from headrace.spark.planner import Planner
from headrace.spark.prints import printed
from headrace.spark.progress import ProgressFile
from headrace.spark.reader import read_rows
from headrace.spark.rows import to_batch
from headrace.spark.runtime import Runtime, runtime_of
from headrace.spark.together import run_together

SMALL = 5_000
"""Up to this many records one task reads all partitions: a Python task costs 15-50 ms whatever it does."""
WAIT = 0.5
"""Seconds that the planner waits for input before it answers that there is none."""


SOURCE = HeadraceSource({})
"""What the workers see of the source beside its reader."""


class HeadraceReader(DataSourceStreamReader):
    """Plans in a process beside the driver; reads in the workers."""

    def __init__(self, application: str, progress: str, *, one_host: bool, modules: str) -> None:
        self.application = application
        self.progress_path = progress
        self._one_host = one_host
        self._modules = modules
        self._planner: Planner | None = None
        self._plan: Plan | None = None
        self._wide: bool | None = None
        self._idle = 0.001

    def __reduce__(self) -> Any:
        # What travels to the workers is only how to read.
        return reader_in_worker, (self.application, self.progress_path)

    def initialOffset(self) -> dict[str, Any]:
        return {"commit": ProgressFile(self.progress_path).read().base.number}

    def getDefaultReadLimit(self) -> ReadAllAvailable:
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        """Plan the next batch; the old offset when there is nothing to do for a while."""
        try:
            return self._next(start)
        except Exception as error:
            ProgressFile(self.progress_path).fail(pack_failure(error))
            raise

    def _next(self, start: dict[str, Any]) -> dict[str, Any]:
        planner, file = self._open()
        until = time.monotonic() + WAIT
        while True:
            progress = file.read()
            if progress.stopping:
                file.acknowledge_stop()
                return start
            # The commit of the last batch is told before Spark asks for the next one: at least that it is coming.
            base = progress.ahead or progress.base
            if not progress.paused and base.number >= start["commit"]:
                failpoint("plan.before")
                plan = planner.plan(base, progress.until, hurry=progress.hurry)
                if plan is not None:
                    failpoint("plan.after")
                    if self._one_host:
                        pending = None if progress.ahead is None else self.progress_path
                        plan = msgspec.structs.replace(plan, pending=pending, parcels=str(file.parcels))
                    self._plan, self._idle = plan, 0.001
                    self._choose_shape(plan, file, first=planner.planned == 1, busy=progress.busy)
                    return {"commit": plan.number, "wall_clock": plan.wall_clock, "ends": plan.ends}
            if time.monotonic() >= until:
                return start
            time.sleep(self._idle)
            # Often at first; the longer nothing comes, the less often.
            self._idle = min(0.05, self._idle * (1.2 if self._idle < 0.02 else 1.02))

    def commit(self, end: dict[str, Any]) -> None:
        """Spark has written down that a batch is done; the log knew before."""
        failpoint("spark.committed")

    def _choose_shape(self, plan: Plan, file: ProgressFile, *, first: bool, busy: bool) -> None:
        """A little work is done by one task from the reading to the results, without stages and shuffles, if all
        stores are on one host. The first batch of a start is divided when there may be stores to restore.
        """
        few = plan.size() <= runtime_of(self.application).config.small_batch_records
        wide = not (self._one_host and few) or busy or (first and plan.base.number > 0)
        if wide != self._wide:
            file.shape(wide=wide)
            self._wide = wide

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Who reads what: all by one while it is little, otherwise split by partition number."""
        plan = self._plan
        if plan is None or plan.number != end["commit"]:
            return []
        runtime = runtime_of(self.application)
        counts: dict[int, int] = {}
        for topic, ends in plan.ends.items():
            for number, (first, last) in enumerate(zip(plan.starts[topic], ends, strict=True)):
                counts[number] = counts.get(number, 0) + last - first
        groups = [sorted(counts)]
        if self._wide and sum(counts.values()) > SMALL:
            groups = [[] for _ in range(min(runtime.shipment.slots, len(counts)) or 1)]
            sizes = [0] * len(groups)
            for number in sorted(counts, key=lambda n: -counts[n]):
                least = sizes.index(min(sizes))
                groups[least].append(number)
                sizes[least] += counts[number]
        packed = encode(plan)
        return [
            InputPartition((packed, group, i == 0, not self._wide))
            for i, group in enumerate(groups)
            if group or i == 0
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In a worker: the records of some partition numbers, packed; the first reader adds the control rows. Or, of a
        small batch, all that comes of it.
        """
        packed, numbers, first, together = partition.value
        try:
            runtime, plan = runtime_of(self.application), decode(packed, Plan)
            made = read_rows(runtime, plan, numbers, control=first)
            for rows in run_together(runtime, made) if together else made:
                yield to_batch(rows)
        except REPORTED as error:
            yield to_batch([*printed(0), failure_row(error)])

    def _open(self) -> tuple[Planner, ProgressFile]:
        if self._planner is None:
            # Spark gives the files that it ships to the workers only; the planner is beside the driver.
            sys.path += [entry for entry in self._modules.split(os.pathsep) if entry not in sys.path]
            self._planner = planner_of(runtime_of(self.application))
            self._file = ProgressFile(self.progress_path)
        return self._planner, self._file


def reader_in_worker(application: str, progress: str) -> HeadraceReader:
    """One that only reads."""
    return HeadraceReader(application, progress, one_host=False, modules="")


def planner_of(runtime: Runtime) -> Planner:
    """What plans the batches of an application."""
    config = runtime.config
    return Planner(
        runtime.log,
        runtime.layout.topics,
        runtime.layout.global_partitions,
        config.max_batch_records,
        config.max_batch_bytes,
        config.commit_interval // timedelta(milliseconds=1),
        frozenset(map(runtime.layout.internal_name, runtime.layout.looped)),
        meeting_partitions(runtime.layout, config),
        EventTimes(runtime.log, extracted_times(runtime.layout, config)),
        config.max_task_idle // timedelta(milliseconds=1),
        runtime.layout.source_of,
    )
