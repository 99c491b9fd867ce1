"""Consumer groups on Kafka: the broker shares the partitions out; what is read goes through the log's own reader."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as Place

from headrace.errors import ConfigError
from headrace.log.base import Revoke, TopicPartition
from headrace.log.kafka import settings
from headrace.log.kafka.connection import Connection
from headrace.log.kafka.failures import is_passing, translate


class KafkaGroup:
    """One member: a client that holds its place in the group and fetches nothing."""

    def __init__(self, connection: Connection, name: str) -> None:
        if not name:
            raise ConfigError("a group needs a name, got an empty one")
        self._connection = connection
        self._name = name
        self._owned: set[TopicPartition] = set()
        self._joined = self._decided = False
        self._consumer: Any = settings.make(
            Consumer,
            settings.client(
                connection.config,
                group_id=name,
                enable_auto_commit=False,
                enable_auto_offset_store=False,
                allow_auto_create_topics=False,
            ),
        )

    def join(self, topics: Sequence[str], revoke: Revoke) -> None:
        """Share the partitions of these topics with the other members."""
        self._connection.check(TopicPartition(topic, 0) for topic in topics)
        self._joined = True

        def assigned(consumer: Any, places: list[Place]) -> None:
            consumer.assign(places)
            consumer.pause(places)
            self._owned = set(map(_place, places))
            self._decided = True

        def revoked(consumer: Any, places: list[Place]) -> None:
            mine = self._owned & set(map(_place, places))
            if mine:
                revoke(mine)
            self._owned -= mine

        def lost(consumer: Any, places: list[Place]) -> None:
            self._owned -= set(map(_place, places))

        self._consumer.subscribe(list(topics), on_assign=assigned, on_revoke=revoked, on_lost=lost)

    def assignment(self) -> Collection[TopicPartition] | None:
        """The partitions that are this member's; the broker's word on it is heard here."""
        if self._joined:
            try:
                message = self._consumer.poll(0)
            except KafkaException as error:
                raise translate(
                    error, self._connection.config, f"a member of group `{self._name}`"
                ) from error
            if message is not None and message.error() is not None and not is_passing(message.error()):
                raise translate(message.error(), self._connection.config, f"a member of group `{self._name}`")
        return self._owned if self._decided else None

    def committed(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The next offset to read of those of the partitions of which the group has read something."""
        try:
            found = self._consumer.committed([Place(*place) for place in places], timeout=settings.TIMEOUT)
        except KafkaException as error:
            raise translate(error, self._connection.config, f"asking for group `{self._name}`") from error
        return {_place(place): place.offset for place in found if place.offset >= 0}

    def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        """Note the next offsets to read; the broker has them when it returns."""
        offsets = [Place(*place, offset) for place, offset in positions.items()]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            raise translate(
                error, self._connection.config, f"the positions of group `{self._name}`"
            ) from error

    def close(self) -> None:
        """Leave: the broker gives the partitions to others."""
        if self._consumer is not None:
            self._owned.clear()
            self._consumer.close()
            self._consumer = None


def _place(place: Place) -> TopicPartition:
    return TopicPartition(place.topic, place.partition)
