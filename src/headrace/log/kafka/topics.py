"""Making, describing and deleting topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection, Uuid
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    ResourceType,
)

from headrace.errors import LogError
from headrace.log.base import TopicDescription, TopicPartition
from headrace.log.kafka import settings
from headrace.log.kafka.connection import Connection
from headrace.log.kafka.failures import is_absent, missing, reason, translate

NO_ID = str(Uuid(0, 0))
"""Of a broker that has none."""


def answer(connection: Connection, futures: Mapping[Any, Any], doing: str) -> Any:
    """The result of an administrative question about one thing."""
    (future,) = futures.values()
    try:
        return future.result(timeout=3 * settings.TIMEOUT)
    except KafkaException as error:
        raise translate(error, connection.config, doing) from error
    except ValueError as error:  # what the client itself refuses, such as an empty name
        raise LogError(f"Kafka refused {doing}: {error}") from error


def describe(connection: Connection, name: str) -> TopicDescription:
    """A topic, with the settings that differ from the broker's."""
    connection.forget(name)
    partitions = connection.partitions(name)
    asked = connection.admin.describe_configs([ConfigResource(ResourceType.TOPIC, name)])
    entries = answer(connection, asked, f"describing topic `{name}`").values()
    own = {e.name: e.value for e in entries if e.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value}
    return TopicDescription(name, partitions, own)


def ids(connection: Connection, names: Iterable[str]) -> dict[str, str]:
    """What tells topics from others that had their names before; without those that are not there."""
    wanted = list(names)
    found = {}
    for name, future in connection.admin.describe_topics(TopicCollection(wanted)).items() if wanted else ():
        try:
            described = answer(connection, {name: future}, f"describing topic `{name}`")
        except LogError as error:
            if isinstance(error.__cause__, KafkaException) and is_absent(reason(error.__cause__)):
                continue
            raise
        if str(described.topic_id) != NO_ID:
            found[name] = str(described.topic_id)
    return found


def create(connection: Connection, name: str, partitions: int, config: Mapping[str, str] | None) -> None:
    """Make a topic, and wait until it can be used."""
    topic = NewTopic(name, partitions, connection.config.replication_factor, config=dict(config or {}))
    try:
        answer(connection, connection.admin.create_topics([topic]), f"making topic `{name}`")
    except LogError as error:
        if _code(error) == KafkaError.TOPIC_ALREADY_EXISTS:
            raise LogError(
                f"topic `{name}` exists already: choose another name, or delete it first"
            ) from error.__cause__
        raise
    connection.wait_for_topic(name, there=True)


def alter(connection: Connection, name: str, config: Mapping[str, str | None]) -> None:
    """Change settings of a topic; None takes one back to the broker's."""
    connection.forget(name)
    connection.partitions(name)
    entries = [
        ConfigEntry(
            key,
            value,
            incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
        )
        for key, value in config.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
    asked = connection.admin.incremental_alter_configs([resource])
    answer(connection, asked, f"changing topic `{name}`")


def delete(connection: Connection, name: str) -> None:
    """Remove a topic, and wait until it is gone."""
    try:
        answer(connection, connection.admin.delete_topics([name]), f"deleting topic `{name}`")
    except LogError as error:
        if isinstance(error.__cause__, KafkaException) and is_absent(reason(error.__cause__)):
            raise missing(connection.config, name) from error.__cause__
        raise
    connection.wait_for_topic(name, there=False)


def delete_records(connection: Connection, before: Mapping[TopicPartition, int]) -> None:
    """Forget the records below these offsets."""
    asked = [KafkaPartition(place.topic, place.partition, offset) for place, offset in before.items()]
    for place, future in connection.admin.delete_records(asked).items() if asked else ():
        answer(connection, {place: future}, f"deleting records of topic `{place.topic}`")


def delete_group(connection: Connection, group: str) -> None:
    """Delete a consumer group with its offsets, if there is one."""
    try:
        answer(connection, connection.admin.delete_consumer_groups([group]), f"deleting group `{group}`")
    except LogError as error:
        if _code(error) != KafkaError.GROUP_ID_NOT_FOUND:
            raise


def _code(error: LogError) -> int | None:
    cause = error.__cause__
    return reason(cause).code() if isinstance(cause, KafkaException) else None
