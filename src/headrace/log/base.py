"""The topic log that an application reads from and commits to: the same small face for the embedded log and Kafka."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from headrace.record import Headers


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int


@dataclass(slots=True)
class Chunk:
    """Records of one partition in offset order, as columns.

    `headers` is None when no record has any. Offsets may have gaps (compaction, transaction markers).
    """

    topic: str
    partition: int
    offsets: Sequence[int]
    timestamps: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Headers] | None = None

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(slots=True)
class Outgoing:
    """Records to append, as columns. Without `partitions` the key's murmur2 decides (no key: spread evenly)."""

    topic: str
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    timestamps: Sequence[int]
    headers: Sequence[Headers] | None = None
    partitions: Sequence[int] | int | None = None
    """One per record, or one for all."""

    def __len__(self) -> int:
        return len(self.timestamps)


@dataclass(slots=True)
class Publication:
    """All that one commit makes visible at once."""

    outputs: Sequence[Outgoing]
    changelogs: Sequence[Outgoing]
    positions: Mapping[TopicPartition, int]
    """The next offset to read of each input partition."""
    commit: Callable[[Mapping[TopicPartition, int]], bytes]
    """Makes the commit record, given the ends (next offsets) of the changelog partitions written here."""
    kept: Mapping[str, bytes | None] = field(default_factory=dict)
    """What stays beside the commit record until it is replaced, by name; None takes it away."""


class Publisher(Protocol):
    """The one writer of an application. Opening it fences every older one."""

    def last_commit(self) -> bytes | None:
        """The newest commit record, read after fencing; None before the first commit."""
        ...

    def publish(self, publication: Publication) -> Mapping[TopicPartition, int]:
        """Append everything in one transaction; returns the ends of the changelog partitions written.

        Raises FencedError when another process has taken over. When it returns, the commit is in the log;
        a commit whose answer was lost is settled by reading the commit record.
        """
        ...

    def close(self) -> None: ...


Revoke: TypeAlias = Callable[[Collection[TopicPartition]], None]
"""Called with partitions that are about to be another member's: the last chance to commit how far they were read."""


class Group(Protocol):
    """A member of a consumer group: which partitions are its own, and how far the group has read them."""

    def join(self, topics: Sequence[str], revoke: Revoke) -> None:
        """Share the partitions of these topics with the other members."""
        ...

    def assignment(self) -> Collection[TopicPartition] | None:
        """The partitions that are this member's; None while the group has not decided yet.

        Ask often: here others are let in, and what is theirs is given up.
        """
        ...

    def committed(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The next offset to read of those of the partitions of which the group has read something."""
        ...

    def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        """Note the next offsets to read; LogError for a partition that is another member's by now."""
        ...

    def close(self) -> None:
        """Leave: the others take over at once."""
        ...


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """What is known of a topic. `config` holds Kafka's names, such as `cleanup.policy`."""

    name: str
    partitions: int
    config: Mapping[str, str]


class TopicLog(Protocol):
    """Topics, partitions, offsets. Safe to use from several processes; open it after a fork."""

    def topics(self) -> Mapping[str, int]:
        """Every topic and its number of partitions."""
        ...

    def describe(self, name: str) -> TopicDescription:
        """One topic; LogError when there is none of that name."""
        ...

    def topic_ids(self, names: Iterable[str]) -> Mapping[str, str]:
        """What tells topics from others that had their names before; without those of which that is not known."""
        ...

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Make a topic; LogError when there is one of that name."""
        ...

    def alter_topic(self, name: str, config: Mapping[str, str | None]) -> None:
        """Change settings of a topic; None takes one back to its default."""
        ...

    def delete_topic(self, name: str) -> None: ...

    def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        """Forget the records below these offsets; some of them may stay for a while."""
        ...

    def earliest(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]: ...

    def latest(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The next offset of each partition that a reader of committed records may reach."""
        ...

    def offsets_for_times(
        self, times: Mapping[TopicPartition, int], *, since: Mapping[TopicPartition, int] | None = None
    ) -> Mapping[TopicPartition, int]:
        """The first offset whose timestamp is at or after the given one, or the end. What comes before the offsets in
        `since` is not looked at, if the log can begin there; Kafka always finds the first of all.
        """
        ...

    def read(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[Chunk]:
        """Committed records with start <= offset < end of each partition, in offset order per partition."""
        ...

    def append(self, records: Sequence[Outgoing], *, atomic: bool | None = None) -> None:
        """Append outside an application (a producer): all or nothing if `atomic`; None: when there are several topics.

        A log may be faster when it need not be, and the embedded log is always.
        """
        ...

    def publisher(self, application_id: str, *, take_over: bool = False) -> Publisher:
        """Become the writer of an application; AlreadyRunningError while another live process is."""
        ...

    def positions(self, application_id: str) -> Mapping[TopicPartition, int]:
        """How far an application has read (the positions of its last publication), or a consumer group."""
        ...

    def group(self, name: str) -> Group:
        """A new member of a consumer group."""
        ...

    def forget_positions(self, application_id: str) -> None:
        """Take away what `positions` tells, if it is there: nothing but a display hangs on it."""
        ...

    def committed(self, application_id: str, name: str = "commit") -> bytes | None:
        """What an application has committed last: its commit record, or what it keeps beside it under a name."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LogConfig:
    """How to reach the log; small and picklable, so that workers open it themselves."""

    bootstrap_servers: str | None = None
    directory: str | None = None
    kafka: Mapping[str, str] = field(default_factory=dict)
    """Settings for every Kafka client (security and the like)."""
    replication_factor: int = -1
    """Of topics made on Kafka; -1 takes the broker's default."""
    upkeep: bool = False
    """Whether to compact and expire beside other work: for producers. An application does it in any case."""
    transactions: bool = True
    """Whether an application's commit on Kafka is one transaction. On the embedded log it always is."""
