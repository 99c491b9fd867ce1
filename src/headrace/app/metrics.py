"""Counts and times of a running application, as the driver sees them."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from headrace.app.named import MetricName, Value, named
from headrace.restore.progress import summary_of
from headrace.spark.commit import Report
from headrace.spark.publish import Batch


@dataclass(slots=True)
class Spread:
    """An average, and the most."""

    count: int = 0
    total: float = 0.0
    most: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value
        self.most = max(self.most, value)

    @property
    def average(self) -> float:
        return self.total / self.count if self.count else 0.0


@dataclass(slots=True)
class OfTask:
    """What one task did since the start."""

    records: int = 0
    outputs: int = 0
    restored: int = 0
    dropped: int = 0
    process_times: Spread = field(default_factory=Spread)
    """Seconds of a batch in which it ran records and punctuators."""
    host: str = ""
    """Where it ran last."""


@dataclass(slots=True)
class OfStore:
    """What became of one task's part of a store."""

    changes: int = 0
    restored: int = 0


@dataclass(slots=True, eq=False)
class Metrics(Mapping[MetricName, Value]):
    """Totals since the start, and a rate over the last batches: as attributes, and as a mapping with Kafka Streams'
    names.

    >>> metrics = Metrics("orders")
    >>> metrics[MetricName("application-id", "stream-metrics")]
    'orders'
    >>> metrics.value("process-total")
    0
    """

    application_id: str = ""
    state: Callable[[], str] = lambda: "CREATED"
    commits: int = 0
    last_commit: int | None = None
    """The number of the newest commit, and when it was (`time.monotonic()`)."""
    last_commit_at: float | None = None
    records: int = 0
    outputs: int = 0
    changes: int = 0
    replaced: int = 0
    """How often the query was started again because the uncaught-exception handler said so."""
    failed: int = 0
    """1 when it failed for good."""
    restored: int = 0
    """Changelog records that were read to bring local stores up to date."""
    restored_bytes: int = 0
    restore_seconds: float = 0.0
    """How long batches waited for that: from the first task's begin to the last one's end."""
    recoveries: Counter[str] = field(default_factory=Counter)
    """How often a task's stores were not just as the log says: `empty`, `undone`, `caught_up` or `rebuilt`."""
    moves: int = 0
    """How often a task ran on another host than in the batch before it."""
    counts: Counter[str] = field(default_factory=Counter)
    """What processors have counted with `context.metrics.add`, in all tasks."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Where the batches' time went, in all."""
    task_seconds: dict[str, float] = field(default_factory=dict)
    """Where the tasks' time went, in all."""
    commit_times: Spread = field(default_factory=Spread)
    """Seconds of the transactions of the log."""
    run_times: Spread = field(default_factory=Spread)
    """Seconds of Spark's jobs."""
    batch_records: Spread = field(default_factory=Spread)
    tasks: dict[str, OfTask] = field(default_factory=dict)
    stores: dict[tuple[str, str], OfStore] = field(default_factory=dict)
    """By store and task."""
    produced: Counter[str] = field(default_factory=Counter)
    """Records written to the users' topics."""
    _recent: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=1000))
    _began: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, batch: Batch) -> None:
        """Count one batch."""
        now = time.monotonic()
        with self._lock:
            if self._began is None:
                self._began = now - sum(batch.seconds.values())
            self.commits += 1
            self.last_commit, self.last_commit_at = batch.commit.number, now
            self.records += batch.records
            self.outputs += batch.outputs
            self.changes += batch.changes
            for name, spent in batch.seconds.items():
                self.seconds[name] = self.seconds.get(name, 0.0) + spent
            self.commit_times.add(batch.seconds.get("publish", 0.0))
            self.run_times.add(batch.seconds.get("run", 0.0))
            self.batch_records.add(batch.records)
            self.produced.update(batch.produced)
            summary = summary_of(batch.reports)
            if summary is not None:
                self.restored_bytes += summary.bytes
                self.restore_seconds += summary.seconds
            for report in batch.reports:
                self._add_report(report)
            for (store, task), changes in batch.changed.items():
                self.stores.setdefault((store, task), OfStore()).changes += changes
            self._recent.append((now, batch.records))

    def _add_report(self, report: Report) -> None:
        self.restored += report.restored
        self.counts.update(report.counts)
        if report.recovery != "same":
            self.recoveries[report.recovery] += 1
        for name, spent in report.seconds.items():
            self.task_seconds[name] = self.task_seconds.get(name, 0.0) + spent
        if report.task.startswith("reader"):
            return
        of = self.tasks.setdefault(report.task, OfTask())
        of.records += report.records
        of.outputs += report.outputs
        of.restored += report.restored
        of.dropped += report.dropped
        if report.host:
            self.moves += of.host not in ("", report.host)
            of.host = report.host
        if "process" in report.seconds:
            of.process_times.add(report.seconds["process"])
        for done in report.restores:
            self.stores.setdefault((done.store, report.task), OfStore()).restored += done.records

    def rate(self, window: float = 5.0) -> float:
        """Records per second over the last few seconds."""
        now = time.monotonic()
        with self._lock:
            recent = sum(n for at, n in self._recent if now - at <= window)
            age = 0.0 if self._began is None else now - self._began
        return recent / min(window, age) if recent and age else 0.0

    def value(self, name: str, **tags: str) -> Value:
        """A metric by its name and some of its tags (`task_id="0_1"`): the first one, if several fit."""
        wanted = {(tag.replace("_", "-"), value) for tag, value in tags.items()}
        for found, value in self._all():
            if found.name == name and wanted <= set(found.tags):
                return value
        raise KeyError(f"there is no metric `{name}`" + (f" with {tags}" if tags else ""))

    def _all(self) -> list[tuple[MetricName, Value]]:
        return list(named(self))

    def __getitem__(self, name: MetricName) -> Value:
        return dict(self._all())[name]

    def __iter__(self) -> Iterator[MetricName]:
        return (name for name, _ in self._all())

    def __len__(self) -> int:
        return len(self._all())
