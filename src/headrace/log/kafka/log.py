"""Topics on a Kafka cluster."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, Producer

from headrace.errors import HeadraceError, LogError
from headrace.log.base import Chunk, Group, LogConfig, Outgoing, Publisher, TopicDescription, TopicPartition
from headrace.log.commits import COMMIT, commits_topic
from headrace.log.kafka import settings, topics
from headrace.log.kafka.at_least_once import AtLeastOncePublisher
from headrace.log.kafka.commits import newest_with
from headrace.log.kafka.connection import EARLIEST, LATEST, Connection, connect
from headrace.log.kafka.failures import translate
from headrace.log.kafka.group import KafkaGroup
from headrace.log.kafka.producing import Watch, plan, send, send_and_watch
from headrace.log.kafka.publisher import KafkaPublisher
from headrace.log.kafka.reader import Reader, shared_reader
from headrace.log.kafka.transaction import Planned


class KafkaLog:
    """The topics of a cluster, read with read_committed.

    Its clients belong to the process and stay open when a log object is closed: the next one finds them warm.
    """

    def __init__(self, config: LogConfig) -> None:
        settings.bootstrap(config)
        self.config = config
        self._producer: Any = None
        self._transactional: Any = None
        self._failed: list[tuple[Any, str]] = []

    @property
    def _connection(self) -> Connection:
        return connect(self.config)

    def topics(self) -> Mapping[str, int]:
        """Every topic but Kafka's own, and its number of partitions."""
        return self._connection.topics()

    def describe(self, name: str) -> TopicDescription:
        """One topic, with the settings that differ from the broker's; LogError when there is none of that name."""
        return topics.describe(self._connection, name)

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
        planned = plan(self._connection, records)
        if not planned:
            return
        if atomic or (atomic is None and len({item.topic for item, _ in planned}) > 1):
            self._transact(planned)
            return
        if self._producer is None:
            more = {"on_delivery": self._on_failure, "delivery.report.only.error": True}
            self._producer = settings.make(Producer, settings.producer(self.config) | more)
        for item, partitions in planned:
            send(self._producer, item, partitions)
        left = self._producer.flush(6 * settings.TIMEOUT)
        if self._failed or left:
            raise self._failure(left)

    def _transact(self, planned: Planned) -> None:
        """One transaction. Its producer is kept: opening one takes longer than most transactions."""
        try:
            if self._transactional is None:
                made = settings.make(
                    Producer, settings.transactional(self.config, f"headrace-{uuid.uuid4()}")
                )
                made.init_transactions(3 * settings.TIMEOUT)
                self._transactional = made
            producer = self._transactional
            producer.begin_transaction()
            watch = Watch()
            try:
                for item, partitions in planned:
                    send_and_watch(producer, item, partitions, watch.report)
                producer.flush(6 * settings.TIMEOUT)
                producer.commit_transaction(6 * settings.TIMEOUT)
            except BaseException:
                self._transactional = None
                producer.abort_transaction(settings.TIMEOUT)
                raise
        except KafkaException as error:
            self._transactional = None
            raise translate(error, self.config, "an append") from error
        self._wait_until_seen(watch.ends)

    def _wait_until_seen(self, ends: Mapping[TopicPartition, int]) -> None:
        """The broker says that a transaction is committed a moment before readers see it."""
        until = time.monotonic() + settings.TIMEOUT
        while time.monotonic() < until:
            seen = self.latest(ends)
            if all(seen[place] >= end for place, end in ends.items()):
                return
            time.sleep(0.005)

    def _on_failure(self, error: Any, message: Any) -> None:
        if error is not None:
            self._failed.append((error, message.topic()))

    def _failure(self, left: int) -> HeadraceError:
        failed, self._failed = self._failed, []
        self._producer = None
        if failed:
            error, topic = failed[0]
            return translate(error, self.config, f"an append to topic `{topic}` ({len(failed)} records)")
        return LogError(f"Kafka has not confirmed {left} records after {6 * settings.TIMEOUT:g} s")

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
        self._producer = self._transactional = None
