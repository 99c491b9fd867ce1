"""Which partitions a consumer reads, and how far it is done with them: alone, or as a member of a group."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from headrace.errors import ConfigError, InvalidArgumentError
from headrace.log import Group, TopicLog, TopicPartition
from headrace.log.commits import commits_topic
from headrace.origin import caller


class Membership:
    """The partitions and the commits of one consumer."""

    def __init__(self, log: TopicLog, group: str | None, commit_every_ms: int | None) -> None:
        self._log = log
        self.group = group
        self._every = commit_every_ms
        self._topics: list[str] = []
        self._assigned: list[TopicPartition] = []
        self._handed: dict[TopicPartition, int] = {}
        """Handed out, but perhaps not yet done with."""
        self._done: dict[TopicPartition, int] = {}
        """Done with, but not yet committed."""
        self._committed_at = time.monotonic()
        if group is not None and commits_topic(group) in log.topics():
            raise ConfigError(
                f"group `{group}` is an application, which keeps its own positions: choose another name",
                origin=caller(),
            )
        self._member: Group | None = None if group is None else log.group(group)

    def subscribe(self, topics: Sequence[str]) -> None:
        """Read all partitions of these topics, too, or in a group a share of them."""
        if self._assigned and not self._topics:
            raise InvalidArgumentError(
                "a consumer either subscribes to topics or is assigned partitions, not both", origin=caller()
            )
        places = [
            TopicPartition(topic, number)
            for topic in topics
            for number in range(self._log.describe(topic).partitions)
        ]
        self._topics += [topic for topic in topics if topic not in self._topics]
        if self._member is None:
            self._assigned += [place for place in places if place not in self._assigned]
        else:
            self._member.join(self._topics, self._revoke)

    def assign(self, places: Collection[TopicPartition]) -> None:
        """Read these partitions."""
        if self._topics:
            raise InvalidArgumentError(
                "a consumer either subscribes to topics or is assigned partitions, not both", origin=caller()
            )
        self._log.latest(places)  # which names those that do not exist
        self._assigned = list(places)

    def assignment(self) -> Collection[TopicPartition] | None:
        """The partitions to read now, None before the group knows; what another is to have is committed first."""
        if self._member is None or not self._topics:
            if not self._assigned:
                raise InvalidArgumentError(
                    'nothing to read: name topics, `Consumer("orders")`, or use `subscribe` or `assign`',
                    origin=caller(),
                )
            return self._assigned
        return self._member.assignment()

    def _revoke(self, places: Collection[TopicPartition]) -> None:
        if self._every is not None:
            self._write({place: at for place, at in self._done.items() if place in places})
        self.forget(places)

    def committed(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """How far the group has read; nothing without a group."""
        return self._member.committed(places) if self._member is not None else {}

    def hand_out(self, records: Iterable[tuple[str, int, int]]) -> None:
        """These (topic, partition, offset) are in the user's hands."""
        if self._member is not None:
            self._handed |= {TopicPartition(topic, number): offset + 1 for topic, number, offset in records}

    def settle(self) -> None:
        """The user asks for more, so is done with what was handed out; commit if it is time."""
        if self._handed:
            self._done |= self._handed
            self._handed.clear()
        if self._done and self._every is not None:
            now = time.monotonic()
            if (now - self._committed_at) * 1000 >= self._every:
                self._write(self._done)
                self._done.clear()
                self._committed_at = now

    def take_back(self) -> None:
        """What was handed out last is not done with."""
        self._handed.clear()

    def moved(self, positions: Mapping[TopicPartition, int]) -> None:
        """The consumer goes on elsewhere, and so does the group."""
        self.forget(positions)
        if self._member is not None:
            self._done |= positions

    def forget(self, places: Collection[TopicPartition]) -> None:
        """These are no longer read here."""
        for place in places:
            self._handed.pop(place, None)
            self._done.pop(place, None)

    def commit(self) -> None:
        """Note how far the group is."""
        if self._member is None:
            raise ConfigError("only a consumer with a `group` commits positions", origin=caller())
        self._done |= self._handed
        self._handed.clear()
        self._write(self._done)
        self._done.clear()

    def _write(self, positions: Mapping[TopicPartition, int]) -> None:
        if positions and self._member is not None:
            self._member.commit(positions)

    def close(self) -> None:
        """Commit what is done with, and leave the group."""
        if self._member is None:
            return
        try:
            if self._every is not None:
                self.commit()
        finally:
            self._member.close()
