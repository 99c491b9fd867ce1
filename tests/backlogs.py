"""Backlogs that are read batch after batch; what each batch takes is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from headrace.log import Outgoing
from headrace.log.base import Chunk, TopicLog, TopicPartition
from headrace.spark.commit import CommitRecord
from headrace.spark.event_times import EventTimes, Extract
from headrace.spark.planner import Planner

Backlog: TypeAlias = Mapping[TopicPartition, Sequence[int]]
"""Timestamps by partition."""


class Run:
    """All batches over a backlog; each is looked at as it is planned."""

    def __init__(
        self,
        log: TopicLog,
        backlog: Backlog,
        limit: int,
        meeting: Sequence[frozenset[TopicPartition]] | None = None,
        extract: Mapping[str, Extract] | None = None,
    ) -> None:
        self.backlog = {tp: list(times) for tp, times in backlog.items()}
        self.reached = dict.fromkeys(self.backlog, 0)
        self.batches: list[dict[TopicPartition, list[int]]] = []
        counts: dict[str, int] = {}
        for topic, partition in self.backlog:
            counts[topic] = max(counts.get(topic, 0), partition + 1)
        for topic, count in counts.items():
            log.create_topic(topic, count, {"retention.ms": "-1"})
        for tp, times in self.backlog.items():
            # Values are the times, so that an extractor can read them; the log's own go the other way then.
            values = [str(time).encode() for time in times]
            written = [10**6 - time for time in times] if tp.topic in (extract or {}) else times
            if times:
                log.append(
                    [Outgoing(tp.topic, [b"k"] * len(times), values, written, partitions=tp.partition)]
                )
        planner = Planner(
            log, counts, {}, limit, 1 << 40, meeting=meeting, times=EventTimes(log, extract or {})
        )
        planner.planned = 1
        base = CommitRecord("i", 0, 0, {topic: [0] * count for topic, count in counts.items()})
        while (plan := planner.plan(base)) is not None:
            assert plan.ends != base.positions, "a batch of nothing would be planned for ever"
            self._take(plan.ends, limit)
            base = msgspec.structs.replace(base, number=plan.number, positions=plan.ends)
        assert self.reached == {tp: len(times) for tp, times in self.backlog.items()}

    def _take(self, ends: Mapping[str, Sequence[int]], limit: int) -> None:
        taken = {}
        waiting = [tp for tp, times in self.backlog.items() if self.reached[tp] < len(times)]
        for tp, times in self.backlog.items():
            end = min(ends[tp.topic][tp.partition], len(times))  # there may be a marker at the end
            assert self.reached[tp] <= end
            taken[tp] = times[self.reached[tp] : end]
            self.reached[tp] = end
        assert sum(map(len, taken.values())) <= max(limit, len(waiting))
        self.batches.append(taken)

    def check(self, group: frozenset[TopicPartition]) -> None:
        """No partition got ahead of what another has still to say; one whose own records are out of order may be
        as far ahead as it had been already.
        """
        at_ = dict.fromkeys(self.backlog, 0)
        for taken in self.batches:
            at_ = {tp: at_[tp] + len(taken[tp]) for tp in at_}
            left = [tp for tp in group if at_[tp] < len(self.backlog[tp])]
            for behind in left:
                bound = max([self.backlog[behind][at_[behind]], *taken[behind]])
                for tp in group:
                    assert max(taken[tp], default=-1) <= bound, (tp, behind)


def values(chunk: Chunk) -> list[int]:
    """An extractor: the value is the time."""
    return [int(value or b"-1") for value in chunk.values]
