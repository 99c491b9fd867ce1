"""The embedded log: topics in a directory, without a broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from headrace.errors import LogError
from headrace.log.base import Chunk, Group, Outgoing, Publisher, TopicDescription, TopicPartition
from headrace.log.commits import COMMIT
from headrace.log.embedded import catalog, group, maintenance, reader, writer
from headrace.log.embedded.environment import Environment, acquire, release
from headrace.log.embedded.publisher import (
    EmbeddedPublisher,
    forget_positions,
    read_commit,
    read_kept,
    read_positions,
)
from headrace.log.embedded.upkeep import Upkeep


def wall_clock() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class EmbeddedLog:
    """Topics, partitions and offsets like Kafka's, in an LMDB environment that is synced at each commit.

    Several processes may use one directory at once. A log object belongs to the process that opened it.

    >>> import tempfile
    >>> log = EmbeddedLog(tempfile.mkdtemp())
    >>> log.create_topic("orders", partitions=2)
    >>> log.append([Outgoing("orders", [b"a", b"b"], [b"1", b"2"], [10, 11], partitions=1)])
    >>> [chunk.values for chunk in log.read({TopicPartition("orders", 1): (0, 2)})]
    [[b'1', b'2']]
    """

    def __init__(
        self, directory: str | Path, *, clock: Callable[[], int] = wall_clock, upkeep: bool = False
    ) -> None:
        self._held = acquire(directory)
        self._clock = clock
        self._upkeep = Upkeep(self._held.path) if upkeep else None
        self._open = True

    @property
    def _environment(self) -> Environment:
        self._held.check_process()
        if not self._open:
            raise LogError(f"the log in `{self._held.path}` is closed")
        return self._held

    @property
    def directory(self) -> Path:
        return self._held.path

    def topics(self) -> Mapping[str, int]:
        """Every topic and its number of partitions."""
        with self._environment.read() as txn:
            return {topic.name: topic.partitions for topic in catalog.all_topics(txn, self._environment)}

    def describe(self, name: str) -> TopicDescription:
        """One topic; LogError when there is none of that name."""
        with self._environment.read() as txn:
            topic = catalog.find(txn, self._environment, name)
        return TopicDescription(topic.name, topic.partitions, topic.config)

    def topic_ids(self, names: Iterable[str]) -> Mapping[str, str]:
        """What tells topics from others that had their names before."""
        with self._environment.read() as txn:
            found = {topic.name: str(topic.id) for topic in catalog.all_topics(txn, self._environment)}
        return {name: found[name] for name in names if name in found}

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Make a topic. `config` takes Kafka's names, of which those in `settings.DEFAULTS` have an effect."""
        with self._environment.write() as txn:
            catalog.create(txn, self._environment, name, partitions, config)

    def alter_topic(self, name: str, config: Mapping[str, str | None]) -> None:
        """Change settings of a topic; None takes one back to its default. They count from the next upkeep on."""
        with self._environment.write() as txn:
            catalog.alter(txn, self._environment, name, config)

    def delete_topic(self, name: str) -> None:
        """Remove a topic and its records."""
        maintenance.delete_topic(self._environment, name)

    def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        """Forget the records below these offsets; some of them may stay for a while."""
        maintenance.delete_records(self._environment, before)

    def earliest(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The first offset of each partition."""
        with self._environment.read() as txn:
            found = catalog.bounds(txn, self._environment, partitions)
        return {place: state.earliest for place, state in found.items()}

    def latest(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The next offset of each partition; costs about a microsecond each."""
        with self._environment.read() as txn:
            found = catalog.bounds(txn, self._environment, partitions)
        return {place: state.end for place, state in found.items()}

    def version(self) -> int:
        """A number that grows with every commit to this log: unchanged means that nothing was appended."""
        return int(self._environment.env.info()["last_txnid"])

    def offsets_for_times(
        self, times: Mapping[TopicPartition, int], *, since: Mapping[TopicPartition, int] | None = None
    ) -> Mapping[TopicPartition, int]:
        """The first offset, at or after that in `since`, whose timestamp is at or after the given one, or the end."""
        first = since or {}
        return {
            place: reader.offset_for_time(self._environment, place, at, first.get(place, 0))
            for place, at in times.items()
        }

    def read(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[Chunk]:
        """Records with start <= offset < end of each partition, in offset order; chunks are `ArrowChunk`s."""
        return reader.read(self._environment, ranges)

    def append(self, records: Sequence[Outgoing], *, atomic: bool | None = None) -> None:
        """Append to any number of topics, always all or nothing; on disk when it returns."""
        prepared = writer.prepare(self._environment, records)
        with self._environment.write(writer.size(prepared)) as txn:
            writer.write(txn, self._environment, prepared)

    def publisher(self, application_id: str, *, take_over: bool = False) -> Publisher:
        """Become the writer of an application; AlreadyRunningError while another live process is."""
        return EmbeddedPublisher(self.directory, application_id, take_over=take_over)

    def positions(self, application_id: str) -> Mapping[TopicPartition, int]:
        """How far an application has read (the positions of its last publication), or a consumer group."""
        with self._environment.read() as txn:
            found = read_positions(txn, self._environment, application_id)
            return found or group.read_positions(txn, self._environment, application_id)

    def group(self, name: str) -> Group:
        """A new member of a consumer group."""
        return group.EmbeddedGroup(self.directory, name)

    def forget_positions(self, application_id: str) -> None:
        """Take away what `positions` tells, if it is there."""
        with self._environment.write() as txn:
            forget_positions(txn, self._environment, application_id)

    def committed(self, application_id: str, name: str = COMMIT) -> bytes | None:
        """What an application has committed last: its commit record, or what it keeps beside it under a name."""
        with self._environment.read() as txn:
            if name == COMMIT:
                return read_commit(txn, self._environment, application_id)
            return read_kept(txn, self._environment, application_id, name)

    def maintain(self) -> maintenance.Report:
        """Compact, expire and tidy up what is due; call it at a start and now and then.

        It takes the write lock for short moments only, and one process at a time does it.
        """
        return maintenance.run(self._environment, self._clock())

    def close(self) -> None:
        """Give the directory back; the log object is of no use afterwards."""
        if self._open:
            self._open = False
            if self._upkeep is not None:
                self._upkeep.close()
            release(self._held)

    def __enter__(self) -> EmbeddedLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
