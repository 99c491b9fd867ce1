"""Topics on a Kafka cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from confluent_kafka import ConsumerGroupTopicPartitions

from headrace.log.base import Chunk, Group, LogConfig, Outgoing, Publisher, TopicDescription, TopicPartition
from headrace.log.commits import COMMIT, commits_topic
from headrace.log.kafka import settings, topics
from headrace.log.kafka.appending import Appender
from headrace.log.kafka.at_least_once import AtLeastOncePublisher
from headrace.log.kafka.commits import newest_with
from headrace.log.kafka.connection import EARLIEST, LATEST, Connection, connect
from headrace.log.kafka.group import KafkaGroup
from headrace.log.kafka.publisher import KafkaPublisher
from headrace.log.kafka.reader import Reader, shared_reader


class KafkaLog:
    """The topics of a cluster, read with read_committed.

    Its clients belong to the process and stay open when a log object is closed: the next one finds them warm.
    """

    def __init__(self, config: LogConfig) -> None:
        settings.bootstrap(config)
        self.config = config
        self._appender = Appender(config)

    @property
    def _connection(self) -> Connection:
        return connect(self.config)

    def topics(self) -> Mapping[str, int]:
        """Every topic but Kafka's own, and its number of partitions."""
        return self._connection.topics()

    def describe(self, name: str) -> TopicDescription:
        """One topic, with the settings that differ from the broker's; LogError when there is none of that name."""
        return topics.describe(self._connection, name)

    def topic_ids(self, names: Iterable[str]) -> Mapping[str, str]:
        """What tells topics from others that had their names before; brokers before 2.8 do not know."""
        return topics.ids(self._connection, names)

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Make a topic; LogError when there is one of that name."""
        topics.create(self._connection, name, partitions, config)

    def alter_topic(self, name: str, config: Mapping[str, str | None]) -> None:
        """Change settings of a topic; None takes one back to the broker's."""
        topics.alter(self._connection, name, config)

    def delete_topic(self, name: str) -> None:
        """Remove a topic and its records."""
        topics.delete(self._connection, name)

    def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        """Forget the records below these offsets."""
        topics.delete_records(self._connection, before)

    def earliest(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The first offset of each partition."""
        return self._connection.offsets(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The next offset of each partition that a reader of committed records may reach."""
        return self._connection.offsets(dict.fromkeys(partitions, LATEST))

    def offsets_for_times(
        self, times: Mapping[TopicPartition, int], *, since: Mapping[TopicPartition, int] | None = None
    ) -> Mapping[TopicPartition, int]:
        """The first offset of all whose timestamp is at or after the given one, or the end."""
        found = self._connection.offsets(times)
        late = [place for place, offset in found.items() if offset < 0]
        return found | self._connection.offsets(dict.fromkeys(late, LATEST))

    def read(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[Chunk]:
        """Committed records with start <= offset < end of each partition, in offset order per partition."""
        reader = shared_reader(self._connection)
        if not reader.is_busy(ranges):
            yield from reader.read(ranges)
            return
        own = Reader(self._connection)  # the shared one is in the middle of these very partitions
        try:
            yield from own.read(ranges)
        finally:
            own.close()

    def append(self, records: Sequence[Outgoing], *, atomic: bool | None = None) -> None:
        """Append outside an application: in a transaction if `atomic`; None: when there is more than one topic."""
        self._appender.append(records, atomic=atomic)

    def publisher(self, application_id: str, *, take_over: bool = False) -> Publisher:
        """Become the writer of an application; AlreadyRunningError while another live process is."""
        kind = KafkaPublisher if self.config.transactions else AtLeastOncePublisher
        return kind(self._connection, application_id, take_over=take_over)

    def positions(self, application_id: str) -> Mapping[TopicPartition, int]:
        """How far an application has read: the offsets of its consumer group."""
        asked = self._connection.admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(application_id)]
        )
        found = topics.answer(self._connection, asked, f"asking for group `{application_id}`")
        return {
            TopicPartition(place.topic, place.partition): place.offset for place in found.topic_partitions
        }

    def forget_positions(self, application_id: str) -> None:
        """Delete the consumer group of an application, if there is one."""
        topics.delete_group(self._connection, application_id)

    def committed(self, application_id: str, name: str = COMMIT) -> bytes | None:
        """What an application has committed last: its commit record, or what it keeps beside it under a name."""
        # With the consumer that is there already: whoever follows an application asks again and again.
        topic = commits_topic(application_id)
        if topic not in self.topics():
            return None
        found = newest_with(self, self._connection, topic, name.encode())
        return None if found is None else found.value

    def group(self, name: str) -> Group:
        """A new member of a consumer group."""
        return KafkaGroup(self._connection, name)

    def close(self) -> None:
        """Nothing is lost: an append has been confirmed when it returns."""
        self._appender.close()
