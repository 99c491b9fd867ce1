"""A task of a later stage, hosted by a worker: its StreamTask over its local stores, batch after batch.

Spark may run the next batch of a task in another process, so nothing here is trusted unless its stamp is the one that
the plan names: stores are brought to the plan's base first, and what operators remember is read back with them.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headrace.failpoints import failpoint
from headrace.log.base import Chunk
from headrace.record import NO_HEADERS, TaskId
from headrace.spark.changelogs import TaskChangelogs, standby_copies
from headrace.spark.commit import Plan, Report, encode
from headrace.spark.hosts import place
from headrace.spark.outputs import output_rows
from headrace.spark.prints import capture, printed
from headrace.spark.progress import ProgressFile
from headrace.spark.restores import restored
from headrace.spark.rows import DRIVER, Kind, Row, pack_in_parts, records, to_chunk
from headrace.spark.stopwatch import Stopwatch
from headrace.state import CHANGELOG_HEADERS
from headrace.state.local import LocalState
from headrace.state.stamps import TASK_STORE, Accepted, Filling, Stamp
from headrace.task import StreamTask

if TYPE_CHECKING:
    from headrace.spark.runtime import Runtime


MEMORY = b"memory"
"""The key of what a task remembers."""

logger = logging.getLogger("headrace")


class HostedTask:
    """One task in one process."""

    def __init__(self, runtime: Runtime, task_id: TaskId) -> None:
        self.runtime = runtime
        self.id = task_id
        self.placement = runtime.layout.by_sub(task_id.subtopology)
        self.local = LocalState(
            runtime.state_path / str(task_id),
            self.placement.sub.stores,
            copies=lambda: standby_copies(runtime.config, task_id),
        )
        self.changelogs = TaskChangelogs(runtime.layout, self.placement, task_id, runtime.config)
        self._read_changelog = self.changelogs.reading(lambda: runtime.log)
        self.output = runtime.new_output()
        self._task: StreamTask | None = None
        self._memory_of: Stamp | None = None
        """The stamp whose memory the StreamTask holds."""
        self._fresh = True
        self._headers = {
            spec.name: CHANGELOG_HEADERS[spec.kind]
            for spec in self.placement.sub.stores
            if spec.kind in CHANGELOG_HEADERS
        }

    def run(self, plan: Plan, rows: Sequence[Row]) -> list[Row]:
        """One batch: bring the stores to the base, process, commit locally. What it wrote, changed and reports."""
        failpoint("prepare.before")
        watch = Stopwatch()
        accepted = self.changelogs.accepted(plan.base)
        pending = plan.pending
        if pending is not None and not self.local.holds(accepted):
            # There may be something to read from the changelogs, and only the finished commit knows how far.
            accepted, pending = self._settled(plan, pending), None
        recovery = self.local.prepare(accepted, self._read_changelog, self.runtime.restores.watch(self, plan))
        if self._fresh or self._memory_of != accepted.stamp or recovery.kind != "same":
            self._go_back()
            self._fresh = False
        task = self._task
        assert task is not None
        capture(self.id, task.metadata)
        failpoint("prepare.after")
        watch.lap("prepare")
        try:
            chunks = in_order(rows)
            watch.lap("unpack")
            task.process(chunks)
            task.punctuate(plan.wall_clock)
            if pending is not None:
                watch.lap("process")
                # One commit that may have to be taken back is all that stores can hold.
                accepted = self._settled(plan, pending)
                watch.lap("wait")
            task.flush()
            snapshot = task.snapshot()
            failpoint("process.after")
            watch.lap("process")
            if snapshot is not None:
                self.local.put_memory(MEMORY, snapshot, plan.wall_clock)
            stamp = Stamp(plan.base.incarnation, plan.number, uuid.uuid4().hex)
            changes = self.local.changes()
            written = self.local.commit(stamp, accepted)
            task.forget_reads()
            failpoint("local_commit.after")
        except BaseException:
            self.output.clear()
            task.metrics.take()
            task.take_dropped()
            self.local.rollback()
            self._fresh = True
            raise
        self._memory_of = stamp if written else accepted.stamp
        watch.lap("commit")
        taken = self.output.take()
        runtime = self.runtime
        made = list(
            output_rows(
                taken,
                runtime.layout,
                runtime.salts,
                self.id,
                {},
                together=runtime.together,
                parcels=runtime.parcels,
            )
        )
        made += [row for store, changed in changes.items() for row in self._changelog_rows(store, changed)]
        watch.lap("pack")
        report = Report(
            str(self.id),
            stamp.attempt if written else None,
            task.next_wall_clock_due(),
            sum(len(chunk) for chunk in chunks),
            sum(len(columns) for columns in taken if not columns.repartition),
            recovery.kind,
            recovery.records,
            watch.seconds,
            watch.began,
            place().host,
            task.metrics.take(),
            task.take_dropped(),
            restored(self, recovery.stores),
        )
        made.append(self._row("report", "", encode(report)))
        made += printed(made[-1].slot)
        failpoint("task.after")
        return made

    def _settled(self, plan: Plan, pending: str) -> Accepted:
        """What the log says is true of this task, once the commit under this batch is in it."""
        return self.changelogs.accepted(ProgressFile(pending).settled(plan.base.number))

    def _go_back(self) -> None:
        """The task as it was at the last commit. One with a user's own processors or stores is made anew, since what
        they have in memory may be that of a batch that failed, or may lack what another process has done.
        """
        if self._task is not None and self._task.has_users_state:
            old, self._task = self._task, None
            try:
                old.close()
            except Exception:
                logger.exception("task %s: a processor or store could not be closed", self.id)
        if self._task is None:
            self._task = self.runtime.build_task(self.placement, self.id, self.local, self.output)
        self._task.restore(self.local.backend(TASK_STORE).get(MEMORY))

    def tasks_waiting(self) -> list[HostedTask]:
        """The tasks that run after this one in its slot."""
        mine = self.runtime.tasks_of(self.placement.stage, self.id.partition % len(self.runtime.salts))
        return [self.runtime.hosted(task_id) for task_id in mine[mine.index(self.id) + 1 :]]

    def stores_to_rebuild(self, plan: Plan) -> list[Filling]:
        """Stores that are not on this host's disk, if the task were to run now; what else is to do will be seen."""
        if (self.local.path / "data.mdb").exists():
            return []
        ends = self.changelogs.accepted(plan.base).ends
        return [Filling(store, 0, end, 0) for store, end in ends.items() if end and store != TASK_STORE]

    def _changelog_rows(
        self, store: str, changed: Sequence[tuple[bytes, bytes | None, int]]
    ) -> Iterator[Row]:
        if changed:
            keys, values, timestamps = zip(*changed, strict=True)
            topic = self.changelogs.topic(store)
            marks = self._headers.get(store)
            headers = None if marks is None else [NO_HEADERS if value is None else marks for value in values]
            for payload in pack_in_parts(records(keys, values, timestamps, headers), self.runtime.parcels):
                yield self._row("changelog", topic, payload)

    def _row(self, kind: Kind, topic: str, payload: bytes) -> Row:
        salt = self.runtime.salts[self.id.partition % len(self.runtime.salts)]
        return Row(
            salt, DRIVER, kind, self.id.subtopology, self.id.partition, topic, self.id.partition, payload
        )

    def close(self) -> None:
        if self._task is not None:
            self._task.close()
        self.local.close()


def in_order(rows: Sequence[Row]) -> list[Chunk]:
    """Chunks of one run of records one after the other, whatever way they took through the shuffle."""
    chunks = [to_chunk(row) for row in rows]
    return sorted(
        (chunk for chunk in chunks if len(chunk)),
        key=lambda chunk: (chunk.topic, chunk.partition, chunk.offsets[0]),
    )
