"""How far an application has read, how far it is to read, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from headrace.app.opening import Opened
from headrace.log.base import TopicPartition
from headrace.spark.layout import Layout
from headrace.spark.publish import Batch


class Progress(NamedTuple):
    """How much of how much is done: of what is to be processed until the application ends by itself."""

    done: int
    total: int | None
    """None when it is to run for ever."""


class Reach:
    """The positions of the last commit, and the ends of the topics that others write."""

    def __init__(self) -> None:
        self.reached: dict[str, list[int]] = {}
        """How far each topic has been read, as of the commit that the stores show; empty before the first one."""
        self.sent_to_itself = False
        """Whether the last batch has written something that the application itself has to read."""
        self._first: Mapping[str, list[int]] = {}

    def begin(self, positions: Mapping[str, list[int]]) -> None:
        """The positions with which the application has started."""
        self._first = self._first or positions

    def progress(self, ends: Mapping[TopicPartition, int] | None) -> Progress:
        """How far it is on the way from its start to there."""
        if ends is None:
            return Progress(0, None)
        way = [
            (self._first[tp.topic][tp.partition], tp, end)
            for tp, end in ends.items()
            if tp.topic in self._first
        ]
        total = sum(max(0, end - first) for first, _, end in way)
        if not self.reached:
            return Progress(0, total)
        done = (min(end, self.reached[tp.topic][tp.partition]) - first for first, tp, end in way)
        return Progress(sum(max(0, each) for each in done), total)

    def committed(self, batch: Batch) -> None:
        """A batch is in the log."""
        self.sent_to_itself = any(
            position < end
            for topic, positions in batch.commit.positions.items()
            for position, end in zip(positions, batch.commit.ends.get(topic, ()), strict=False)
        )
        self.reached = {**batch.commit.positions, **batch.globals}

    def is_at(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Whether everything up to there is committed, with all that follows from it."""
        reached = self.reached
        return bool(reached) and not self.sent_to_itself and self.left(ends) == 0

    def left(self, ends: Mapping[TopicPartition, int]) -> int:
        """Records up to there that are still to be read."""
        reached = self.reached
        return sum(
            max(0, end - reached[tp.topic][tp.partition]) for tp, end in ends.items() if tp.topic in reached
        )


def partitions_read(layout: Layout) -> list[TopicPartition]:
    """Every partition that the application reads and others write; with those of global tables."""
    loops = set(map(layout.internal_name, layout.looped))
    topics = {**layout.topics, **layout.global_partitions}
    return [TopicPartition(t, p) for t, n in topics.items() if t not in loops for p in range(n)]


def ends_now(opened: Opened) -> dict[TopicPartition, int]:
    """Where the topics end now."""
    return dict(opened.log.latest(partitions_read(opened.layout)))


def by_topic(ends: Mapping[TopicPartition, int]) -> dict[str, list[int]]:
    """The same, topic by topic.

    >>> by_topic({TopicPartition("a", 1): 5, TopicPartition("a", 0): 7})
    {'a': [7, 5]}
    """
    found: dict[str, list[int]] = {}
    for tp in sorted(ends):
        found.setdefault(tp.topic, []).append(ends[tp])
    return found
