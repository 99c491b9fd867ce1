"""The metrics of an application under Kafka Streams' names, where it has one, and under our own where not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.app.metrics import Metrics, Spread

CLIENT = "stream-metrics"
THREAD = "stream-thread-metrics"
TASK = "stream-task-metrics"
STORE = "stream-state-metrics"
TOPIC = "stream-topic-metrics"
OURS = "headrace-metrics"
USERS = "headrace-user-metrics"


class MetricName(NamedTuple):
    """What a metric is called, and of what it is.

    >>> str(MetricName("process-total", TASK, (("task-id", "0_1"),)))
    'stream-task-metrics:process-total{task-id=0_1}'
    """

    name: str
    group: str
    tags: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        tags = ",".join(f"{tag}={value}" for tag, value in self.tags)
        return f"{self.group}:{self.name}" + (f"{{{tags}}}" if tags else "")


Value = float | int | str


def named(metrics: Metrics) -> Iterator[tuple[MetricName, Value]]:
    """All of them, as they are now. Times are in milliseconds, as in Kafka Streams."""
    yield MetricName("application-id", CLIENT), metrics.application_id
    yield MetricName("state", CLIENT), metrics.state()
    yield MetricName("failed-stream-threads", CLIENT), metrics.replaced + metrics.failed
    yield MetricName("commit-total", THREAD), metrics.commits
    yield from _spread("commit-latency", THREAD, metrics.commit_times)
    yield MetricName("process-total", THREAD), metrics.records
    yield MetricName("process-rate", THREAD), metrics.rate()
    yield from _spread("process-latency", THREAD, metrics.run_times)
    yield from _spread("poll-records", THREAD, metrics.batch_records, scale=1)
    for task, of in sorted(metrics.tasks.items()):
        tags = (("task-id", task),)
        yield MetricName("process-total", TASK, tags), of.records
        yield from _spread("process-latency", TASK, of.process_times, tags)
        yield MetricName("dropped-records-total", TASK, tags), of.dropped
        yield MetricName("restore-total", TASK, tags), of.restored
        yield MetricName("records-produced-total", TASK, tags), of.outputs
        yield MetricName("host", OURS, tags), of.host
    for topic, records in sorted(metrics.produced.items()):
        yield MetricName("records-produced-total", TOPIC, (("topic", topic),)), records
    for (store, task), of_store in sorted(metrics.stores.items()):
        both = (("task-id", task), ("store", store))
        yield MetricName("restore-total", STORE, both), of_store.restored
        yield MetricName("changelog-records-total", OURS, both), of_store.changes
    yield MetricName("records-out-total", OURS), metrics.outputs
    yield MetricName("changelog-records-total", OURS), metrics.changes
    yield MetricName("restored-bytes-total", OURS), metrics.restored_bytes
    yield MetricName("restore-time-total", OURS), metrics.restore_seconds * 1000
    for kind, count in sorted(metrics.recoveries.items()):
        yield MetricName("recoveries-total", OURS, (("kind", kind),)), count
    for part, seconds in sorted(metrics.seconds.items()):
        yield MetricName("batch-time-total", OURS, (("part", part),)), seconds * 1000
    for part, seconds in sorted(metrics.task_seconds.items()):
        yield MetricName("task-time-total", OURS, (("part", part),)), seconds * 1000
    for name, count in sorted(metrics.counts.items()):
        yield MetricName(name, USERS), count


def _spread(
    name: str, group: str, of: Spread, tags: tuple[tuple[str, str], ...] = (), scale: float = 1000
) -> Iterator[tuple[MetricName, Value]]:
    yield MetricName(f"{name}-avg", group, tags), of.average * scale
    yield MetricName(f"{name}-max", group, tags), of.most * scale
