"""How far the next batch reads.

A batch takes what there is, up to a number of records and bytes. When that is not all, the partitions whose records
meet in a task stop at the same point in *time* (see `alignment`): otherwise one of them would run ahead, and the next
records of the others would be late.

What the application has sent to itself in the last batch is always read whole, whatever the limits: it is the rest of
that batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from headrace.clock import now_ms
from headrace.log.base import TopicLog, TopicPartition
from headrace.spark.alignment import aligned_ends
from headrace.spark.commit import CommitRecord, Plan
from headrace.spark.event_times import EventTimes
from headrace.spark.watching import Idle, Watch
from headrace.topology.nodes import SourceNode

SAMPLE = 50
"""Records of a partition that are looked at to learn how large they are; less is never too much for a batch."""
SAMPLE_EVERY = 16
"""Batches after which they are looked at again: a look costs a quarter of a second on Kafka."""
OVERHEAD = 40
"""Bytes that a record needs beside its key and value."""
FIRST_BATCH = 10_000
"""The first batch of a start is small, so that the first result is quick."""


@dataclass(slots=True)
class Planner:
    """Plans batches over a log. Holds no truth: what was committed is told to it each time."""

    log: TopicLog
    topics: Mapping[str, int]
    global_topics: Mapping[str, int]
    max_records: int
    max_bytes: int
    commit_interval_ms: int = 0
    """The least time between two commits."""
    looped: frozenset[str] = frozenset()
    """Topics that the application writes and reads itself."""
    meeting: Sequence[Set[TopicPartition]] | None = None
    """Partitions whose records meet in a task where time decides; None: all of them."""
    times: EventTimes | None = None
    """When records happened; None: at the log's time."""
    idle_ms: int = 0
    """How long partitions that meet wait for one of them that has nothing to say."""
    source_of: Callable[[str], SourceNode | None] = lambda topic: None
    """Who reads a topic, for messages."""
    clock: Callable[[], int] = now_ms
    planned: int = 0
    _partitions: list[TopicPartition] = field(default_factory=list)
    _globals: list[TopicPartition] = field(default_factory=list)
    _loops: list[TopicPartition] = field(default_factory=list)
    _others: list[TopicPartition] = field(default_factory=list)
    _record_bytes: float = 0.0
    _sampled: int = 0
    _tables: dict[TopicPartition, int] = field(default_factory=dict)
    """How far the last plan reads the global tables."""
    _idle: Idle = field(default_factory=Idle)
    _watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        self._partitions = [TopicPartition(t, p) for t, n in self.topics.items() for p in range(n)]
        self._globals = [TopicPartition(t, p) for t, n in self.global_topics.items() for p in range(n)]
        self._loops = [tp for tp in self._partitions if tp.topic in self.looped]
        self._others = [tp for tp in self._partitions if tp.topic not in self.looped]
        self._watch = Watch(self.log, {**self.topics, **self.global_topics}, self.source_of)

    def plan(
        self, base: CommitRecord, until: Mapping[str, list[int]] | None = None, *, hurry: bool = False
    ) -> Plan | None:
        """The next batch, or None while there is nothing to do. It reads nothing beyond `until` but what the
        application has written itself; with that, or in a `hurry`, batches are large and do not wait.
        """
        starts = {tp: base.positions[tp.topic][tp.partition] for tp in self._partitions}
        latest = {**self.log.latest([*self._others, *self._globals])}
        # The commit knows how far the application has written what it reads itself. Kafka may need a moment to tell.
        for tp in self._partitions:
            latest[tp] = max(
                latest.get(tp, 0), base.ends[tp.topic][tp.partition] if tp.topic in base.ends else 0
            )
        now = self.clock()
        self._watch.look(now, starts, latest, base.topic_ids)
        if until is not None:
            _stop_at(latest, until, base)
        backlog = {tp: max(0, latest[tp] - start) for tp, start in starts.items()}
        if self.idle_ms:
            backlog = self._idle.without_those_who_wait(
                backlog, self._groups(backlog), now - self.idle_ms, now
            )
        # A clock that was set back is no reason to wait until it is there again.
        early = 0 <= now - base.wall_clock < self.commit_interval_ms
        if self.planned and not hurry and until is None and early:
            return None
        due = base.due is not None and base.due <= now
        tables = {tp: latest[tp] for tp in self._globals}
        if self.planned and not due and not any(backlog.values()) and tables == self._tables:
            return None
        self._tables = tables
        looped = {tp: starts[tp] + backlog.pop(tp) for tp in self._loops}
        limit = max(1, self.max_records - sum(looped.values()) + sum(starts[tp] for tp in looped))
        if not self.planned and until is None:
            limit = min(limit, FIRST_BATCH)
        ends = looped | self._ends({tp: starts[tp] for tp in backlog}, backlog, limit)
        self.planned += 1
        return Plan(
            number=base.number + 1,
            wall_clock=now,
            starts=_columns(self.topics, starts),
            ends=_columns(self.topics, ends),
            globals=_columns(self.global_topics, tables),
            base=base,
        )

    def _ends(
        self, starts: Mapping[TopicPartition, int], backlog: Mapping[TopicPartition, int], limit: int
    ) -> dict[TopicPartition, int]:
        total = sum(backlog.values())
        if total > SAMPLE:
            if self.planned >= self._sampled + SAMPLE_EVERY or not self._record_bytes:
                self._record_bytes, self._sampled = self._sample(starts, backlog), self.planned
            limit = min(limit, max(1, int(self.max_bytes / self._record_bytes)))
        if total <= limit:
            return {tp: start + backlog[tp] for tp, start in starts.items()}
        shares = _fair_shares(backlog, limit)
        ends = {tp: start + shares[tp] for tp, start in starts.items()}
        for group in self._groups(starts):
            busy = [tp for tp in starts if tp in group and backlog[tp]]
            if len(busy) > 1 and any(shares[tp] < backlog[tp] for tp in busy):
                mine = [{tp: of[tp] for tp in busy} for of in (starts, backlog, shares)]
                ends |= aligned_ends(self.times or EventTimes(self.log), *mine)
        return ends

    def _groups(self, every: Mapping[TopicPartition, int]) -> Sequence[Set[TopicPartition]]:
        return [every.keys()] if self.meeting is None else self.meeting

    def _sample(self, starts: Mapping[TopicPartition, int], backlog: Mapping[TopicPartition, int]) -> float:
        """How large a record is, from the first few of each partition that this batch would read."""
        ranges = {tp: (starts[tp], starts[tp] + min(SAMPLE, size)) for tp, size in backlog.items() if size}
        count, size = 0, 0
        for chunk in self.log.read(ranges):
            count += len(chunk)
            size += sum(map(len, filter(None, chunk.keys))) + sum(map(len, filter(None, chunk.values)))
        return max(1.0, size / max(1, count)) + OVERHEAD


def _stop_at(latest: dict[TopicPartition, int], until: Mapping[str, list[int]], base: CommitRecord) -> None:
    """Take back what came after `until`, but for what the application has written itself."""
    for tp, end in latest.items():
        if tp.topic in until:
            own = base.ends[tp.topic][tp.partition] if tp.topic in base.ends else 0
            latest[tp] = min(end, max(until[tp.topic][tp.partition], own))


def _fair_shares(backlog: Mapping[TopicPartition, int], limit: int) -> dict[TopicPartition, int]:
    """An equal share each; what a short backlog leaves over goes to the others. At least one record each."""
    shares = dict.fromkeys(backlog, 0)
    left = limit
    waiting = sorted((tp for tp, size in backlog.items() if size), key=lambda tp: backlog[tp])
    while waiting:
        tp = waiting[0]
        shares[tp] = min(backlog[tp], max(1, left // len(waiting)))
        left -= shares[tp]
        waiting = waiting[1:]
    return shares


def _columns(topics: Mapping[str, int], values: Mapping[TopicPartition, int]) -> dict[str, list[int]]:
    return {topic: [values[TopicPartition(topic, p)] for p in range(n)] for topic, n in topics.items()}
