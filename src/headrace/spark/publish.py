"""The end of a batch, in the driver: collect what the tasks made, and publish it in one transaction of the log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

import msgspec
import pyarrow as pa

from headrace.errors import HeadraceError, LogError
from headrace.failpoints import failpoint
from headrace.log.arrow import ArrowOutgoing
from headrace.log.base import Outgoing, Publication, Publisher, TopicPartition
from headrace.spark.commit import CommitRecord, Plan, Report, TaskCommit, decode, encode
from headrace.spark.failure import unpack_failure
from headrace.spark.interleave import interleave
from headrace.spark.layout import Layout
from headrace.spark.prints import Prints, show
from headrace.spark.rows import from_batch, places, unpack
from headrace.spark.stopwatch import Stopwatch

logger = logging.getLogger("headrace")

K = TypeVar("K")


@dataclass(slots=True)
class Batch:
    """A published batch, for whoever watches: counts, and where the time went."""

    commit: CommitRecord
    globals: dict[str, list[int]]
    """How far the global tables were read."""
    records: int
    outputs: int
    changes: int
    reports: list[Report]
    seconds: dict[str, float]
    divided: bool = False
    """Whether Spark divided it among its cores; a small one is done by one task."""
    produced: dict[str, int] = field(default_factory=dict)
    """Topic -> records written to it."""
    changed: dict[tuple[str, str], int] = field(default_factory=dict)
    """Store and task -> changes of it."""


@dataclass(slots=True)
class Collected:
    """The rows of a batch, sorted by what they are."""

    outputs: list[Outgoing] = field(default_factory=list)
    changelogs: list[Outgoing] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    prints: list[Prints] = field(default_factory=list)
    plan: Plan | None = None
    error: HeadraceError | None = None
    """What a worker reported."""


class Committer:
    """Publishes batches, one after the other, each built on the one before it."""

    def __init__(
        self,
        publisher: Publisher,
        base: CommitRecord,
        layout: Layout,
        kept: Mapping[str, bytes] = MappingProxyType({}),
        on_print: Callable[[list[Prints]], None] | None = None,
    ) -> None:
        self.publisher = publisher
        self._on_print = show if on_print is None else on_print
        self.base = base
        self._lock = threading.Lock()
        """Held while something is published, which may be beside the query."""
        self.layout = layout
        self._stores = {
            layout.changelog(spec.name): (spec.name, placement.sub.id)
            for placement in layout.placements
            for spec in placement.sub.stores
        }
        """Changelog -> its store and the sub-topology that has it."""
        self._kept = kept
        """What the next commit has to keep beside it."""
        self.several_hosts = False
        """Whether to note on which host a task has its stores."""

    def publish(self, table: pa.Table, watch: Stopwatch) -> Batch:
        """Make a batch visible."""
        return self.finish(self.take(table), watch)

    def take(self, table: pa.Table) -> Collected:
        """What a batch has made, ready to be published; raises what a worker reported as an error."""
        failpoint("collect.after")
        collected = collect(table, self.layout)
        if collected.error is not None:
            self._show(collected.prints)
            raise collected.error
        return collected

    def coming(self, collected: Collected) -> CommitRecord | None:
        """The commit that will come of it, but for the ends of changelogs; None where the next batch has to wait for
        them: it reads what this one writes, or the tables of all tasks that queries see.
        """
        own = any(change.topic in self.layout.topics for change in collected.changelogs)
        if own or self.layout.globals:
            return None
        return self._record(self._plan_of(collected), collected.reports, {})

    def finish(self, collected: Collected, watch: Stopwatch) -> Batch:
        """Publish what was taken."""
        plan = self._plan_of(collected)
        watch.lap("sort")
        made: list[CommitRecord] = []

        def commit_record(ends: Mapping[TopicPartition, int]) -> bytes:
            made[:] = [self._record(plan, collected.reports, ends)]
            return encode(made[0])

        positions = {
            TopicPartition(topic, partition): end
            for topic, ends in plan.ends.items()
            for partition, end in enumerate(ends)
        }
        with self._lock:
            self.publisher.publish(
                Publication(collected.outputs, collected.changelogs, positions, commit_record, self._kept)
            )
            self._kept = {}
            self.base = made[0]
        watch.lap("publish")
        self._show(collected.prints)
        return Batch(
            self.base,
            plan.globals,
            plan.size(),
            sum(len(output) for output in collected.outputs),
            sum(len(change) for change in collected.changelogs),
            collected.reports,
            watch.seconds,
            produced=_lengths((output.topic, output) for output in collected.outputs),
            changed=_lengths(
                (
                    (self._stores[change.topic][0], f"{self._stores[change.topic][1]}_{change.partitions}"),
                    change,
                )
                for change in collected.changelogs
                if change.topic in self._stores
            ),
        )

    def _show(self, prints: list[Prints]) -> None:
        if prints:
            try:
                self._on_print(sorted(prints, key=lambda printed: printed.task))
            except OSError as error:
                # A terminal or pipe that is gone is no reason to stop.
                logger.warning("what tasks print cannot be shown any more: %s", error)
                self._on_print = lambda prints: None
            except Exception:
                logger.exception("what the tasks have printed cannot be shown")

    def shut_down(self, reason: str) -> None:
        """Write the last commit again, with the word that every process of this application is to end."""
        with self._lock:
            record = msgspec.structs.replace(self.base, shutdown=reason)
            positions = {
                TopicPartition(topic, partition): position
                for topic, known in record.positions.items()
                for partition, position in enumerate(known)
            }
            self.publisher.publish(Publication([], [], positions, lambda ends: encode(record)))
            self.base = record  # a commit that was under way must not take the word back

    def _plan_of(self, collected: Collected) -> Plan:
        plan = collected.plan
        if plan is None or plan.base.number != self.base.number:
            raise LogError(f"a batch came without a plan that is built on commit {self.base.number}")
        return plan

    def _record(self, plan: Plan, reports: list[Report], ends: Mapping[TopicPartition, int]) -> CommitRecord:
        tasks = dict(self.base.tasks)
        due = [report.due for report in reports if report.due is not None]
        for report in reports:
            if report.attempt is not None:
                host = report.host if self.several_hosts else ""
                tasks[report.task] = TaskCommit(plan.number, report.attempt, host)
        merged = {topic: list(known) for topic, known in self.base.ends.items()}
        for (topic, partition), end in ends.items():
            merged[topic][partition] = end
        return msgspec.structs.replace(
            self.base,
            number=plan.number,
            wall_clock=plan.wall_clock,
            positions=plan.ends,
            tasks=tasks,
            ends=merged,
            due=min(due, default=None),
        )


def _lengths(parts: Iterable[tuple[K, Outgoing]]) -> dict[K, int]:
    found: dict[K, int] = {}
    for key, records in parts:
        found[key] = found.get(key, 0) + len(records)
    return found


def collect(table: pa.Table, layout: Layout) -> Collected:
    """Sort a batch's rows."""
    found = Collected()
    outputs: dict[str, dict[tuple[int, int], list[pa.RecordBatch]]] = {}
    changes: dict[tuple[str, int], list[pa.RecordBatch]] = {}
    for row in from_batch(table):
        if row.kind == "error":
            found.error = found.error or unpack_failure(row.payload)
        elif row.kind == "print":
            found.prints.append(decode(row.payload, Prints))
        elif row.kind == "plan":
            found.plan = decode(row.payload, Plan)
        elif row.kind == "report":
            found.reports.append(decode(row.payload, Report))
        elif row.kind == "output":
            writers = outputs.setdefault(row.topic, {})
            writers.setdefault((row.sub, row.task), []).append(unpack(row.payload))
        elif row.kind == "changelog":
            changes.setdefault((row.topic, row.partition), []).append(unpack(row.payload))
    for topic, writers in sorted(outputs.items()):
        written = [batches for _, batches in sorted(writers.items())]
        apart = topic in layout.apart
        for batch in (batch for batches in written for batch in batches) if apart else interleave(written):
            # Of what the application reads itself the commit tells the end: Kafka may need a moment to know it.
            (found.changelogs if topic in layout.topics else found.outputs).append(_output(topic, batch))
    for (topic, partition), batches in sorted(changes.items()):
        found.changelogs += [ArrowOutgoing(topic, batch, partition) for batch in batches]
    return found


def _output(topic: str, batch: pa.RecordBatch) -> Outgoing:
    partitions = places(batch, "partition")
    if partitions is None:
        return ArrowOutgoing(topic, batch)
    return ArrowOutgoing(topic, batch.drop_columns(["partition"]), partitions)
