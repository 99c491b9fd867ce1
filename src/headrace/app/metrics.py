"""Counts and times of a running application, as the driver sees them."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field

from headrace.restore.progress import summary_of
from headrace.spark.publish import Batch


@dataclass(slots=True)
class Metrics:
    """Totals since the start, and a rate over the last batches."""

    commits: int = 0
    records: int = 0
    outputs: int = 0
    changes: int = 0
    restored: int = 0
    """Changelog records that were read to bring local stores up to date."""
    restored_bytes: int = 0
    restore_seconds: float = 0.0
    """How long batches waited for that: from the first task's begin to the last one's end."""
    recoveries: Counter[str] = field(default_factory=Counter)
    """How often a task's stores were not just as the log says: `empty`, `undone`, `caught_up` or `rebuilt`."""
    counts: Counter[str] = field(default_factory=Counter)
    """What processors have counted with `context.metrics.add`, in all tasks."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Where the batches' time went, in all."""
    task_seconds: dict[str, float] = field(default_factory=dict)
    """Where the tasks' time went, in all."""
    _recent: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=50))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, batch: Batch) -> None:
        """Count one batch."""
        with self._lock:
            self.commits += 1
            self.records += batch.records
            self.outputs += batch.outputs
            self.changes += batch.changes
            for name, spent in batch.seconds.items():
                self.seconds[name] = self.seconds.get(name, 0.0) + spent
            summary = summary_of(batch.reports)
            if summary is not None:
                self.restored_bytes += summary.bytes
                self.restore_seconds += summary.seconds
            for report in batch.reports:
                self.restored += report.restored
                self.counts.update(report.counts)
                if report.recovery != "same":
                    self.recoveries[report.recovery] += 1
                for name, spent in report.seconds.items():
                    self.task_seconds[name] = self.task_seconds.get(name, 0.0) + spent
            self._recent.append((time.monotonic(), batch.records))

    def rate(self, window: float = 5.0) -> float:
        """Records per second over the last few seconds."""
        now = time.monotonic()
        with self._lock:
            recent = [(at, n) for at, n in self._recent if now - at <= window]
        return sum(n for _, n in recent) / window if recent else 0.0
