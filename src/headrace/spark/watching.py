"""What the planner keeps an eye on beside the records: topics that are not what they were, and idle partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from headrace.errors import OffsetOutOfRangeError, StartError
from headrace.log.base import TopicLog, TopicPartition
from headrace.topology.nodes import SourceNode

LOOK_EVERY_MS = 30_000
"""How often the number of partitions is asked for."""
PATIENCE_MS = 5_000
"""How long a topic may be shorter than what was read of it: a broker that has just started may need a moment."""


@dataclass(slots=True)
class Watch:
    """Fails when a topic has become another one under a running application: its records would be passed over."""

    log: TopicLog
    topics: Mapping[str, int]
    source_of: Callable[[str], SourceNode | None] = lambda topic: None
    """Who reads a topic, for the message."""
    _looked: int | None = None
    _short: dict[TopicPartition, int] = field(default_factory=dict)

    def look(
        self,
        now: int,
        starts: Mapping[TopicPartition, int],
        latest: Mapping[TopicPartition, int],
        ids: Mapping[str, str] | None = None,
    ) -> None:
        """Called with every plan; asks the log seldom. `ids` are those of the topics that were read."""
        for tp, start in starts.items():
            if latest[tp] >= start:
                self._short.pop(tp, None)
            elif now - self._short.setdefault(tp, now) >= PATIENCE_MS:
                raise shorter(tp, start, latest[tp], self.source_of(tp.topic))
        if self._looked is None:
            self._looked = now  # the start has just looked
        elif now - self._looked >= LOOK_EVERY_MS:
            self._looked = now
            self._count()
            for _, error in made_anew(ids, self.log.topic_ids(ids), starts, self.source_of) if ids else ():
                raise error

    def _count(self) -> None:
        found = self.log.topics()
        for topic, count in self.topics.items():
            there = found.get(topic)
            if there is not None and there != count:
                source = self.source_of(topic)
                raise StartError(
                    f"`{topic}` now has {there} partitions, and had {count} when the application started: records in "
                    "the others would not be read; start again, which tells what this means for the state",
                    node=None if source is None else source.name,
                    origin=None if source is None else source.origin,
                )


def made_anew(
    before: Mapping[str, str],
    now: Mapping[str, str],
    positions: Mapping[TopicPartition, int],
    source_of: Callable[[str], SourceNode | None],
) -> Iterator[tuple[str, StartError]]:
    """Topics that have been read, and are others by now, of the same names."""
    for topic, known in before.items():
        read = {tp.partition: at for tp, at in positions.items() if tp.topic == topic and at > 0}
        if read and now.get(topic, known) != known:
            source, (number, at) = source_of(topic), min(read.items())
            yield (
                topic,
                StartError(
                    f"topic `{topic}` was deleted and made anew since it was read (its id is `{now[topic]}`, and was "
                    f"`{known}`): offset {at} of partition {number}, where reading was to go on, is somewhere in other "
                    "records; start afresh with `headrace reset` or under another `application_id`, or go on in the "
                    "midst of them: `--accept-changes`, or `Streams(..., accept_changes=True)`",
                    node=None if source is None else source.name,
                    origin=None if source is None else source.origin,
                ),
            )


def shorter(
    tp: TopicPartition, position: int, end: int, source: SourceNode | None = None
) -> OffsetOutOfRangeError:
    """For a partition that ends before the place where reading is to go on."""
    return OffsetOutOfRangeError(
        f"topic `{tp.topic}`, partition {tp.partition}: the next record to read is offset {position}, but the topic "
        f"ends at {end}: it was deleted and made anew, or has lost records; start afresh with `headrace reset`, or "
        "under another `application_id`",
        node=None if source is None else source.name,
        origin=None if source is None else source.origin,
    )


@dataclass(slots=True)
class Idle:
    """Since when partitions have had nothing to say while others, which they meet, had."""

    _since: dict[TopicPartition, int] = field(default_factory=dict)

    def without_those_who_wait(
        self,
        backlog: Mapping[TopicPartition, int],
        groups: Iterable[Set[TopicPartition]],
        before: int,
        now: int,
    ) -> dict[TopicPartition, int]:
        """The backlog without partitions that have to wait for one that is idle, not yet since `before`."""
        found = dict(backlog)
        for group in groups:
            idle = [tp for tp in group if not backlog.get(tp)]
            for tp in group:
                if backlog.get(tp):
                    self._since.pop(tp, None)
            if len(idle) < len(group) and any(self._since.setdefault(tp, now) > before for tp in idle):
                found |= dict.fromkeys((tp for tp in group if tp in found), 0)
        return found
