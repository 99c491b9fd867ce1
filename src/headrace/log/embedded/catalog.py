"""Topics and the state of their partitions in the embedded log."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from headrace.errors import LogError
from headrace.log.base import TopicPartition
from headrace.log.embedded.environment import Environment

_STATE = struct.Struct("<qqqq")
_PLACE = struct.Struct(">II")
_POLICIES = ({"delete"}, {"compact"}, {"compact", "delete"})
_NUMBERS = {
    "retention.ms": "-1",
    "delete.retention.ms": "86400000",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
}


class Topic(msgspec.Struct, frozen=True):
    """A topic as it is stored. The id is never used again, so a topic made anew has nothing of the old one."""

    name: str
    id: int
    partitions: int
    config: dict[str, str]

    @property
    def compacted(self) -> bool:
        return "compact" in self.config.get("cleanup.policy", "delete")

    @property
    def expires(self) -> bool:
        """Whether old records are deleted: by default for ever kept, unlike on a broker, whose disk is shared."""
        return "delete" in self.config.get("cleanup.policy", "delete") and self.number("retention.ms") >= 0

    def number(self, name: str) -> float:
        """A numeric setting, or its default."""
        return float(self.config.get(name, _NUMBERS[name]))


class PartitionState(msgspec.Struct):
    """Where a partition begins and ends, its highest timestamp, and how far it has been compacted."""

    earliest: int = 0
    end: int = 0
    max_timestamp: int = -1
    cleaned: int = 0

    def pack(self) -> bytes:
        return _STATE.pack(self.earliest, self.end, self.max_timestamp, self.cleaned)


_decoder = msgspec.json.Decoder(Topic)


def find(txn: Any, environment: Environment, name: str) -> Topic:
    """The topic of a name, or a LogError that says how to make it."""
    found = txn.get(name.encode(), db=environment.topics)
    if found is None:
        raise LogError(
            f"topic `{name}` does not exist in the log in `{environment.path}`: "
            f"create it with `headrace topics create {name}`"
        )
    return _decoder.decode(found)


def all_topics(txn: Any, environment: Environment) -> list[Topic]:
    """Every topic, by name."""
    return [_decoder.decode(value) for _, value in txn.cursor(db=environment.topics)]


def state_key(topic_id: int, partition: int) -> bytes:
    """Where a partition's state lies; also the first part of its entries' keys."""
    return _PLACE.pack(topic_id, partition)


def state(txn: Any, environment: Environment, topic: Topic, partition: int) -> PartitionState:
    """The state of one partition."""
    found = txn.get(state_key(topic.id, partition), db=environment.partitions)
    if found is None:
        raise LogError(
            f"topic `{topic.name}` has partitions 0 to {topic.partitions - 1}, got partition {partition}"
        )
    return PartitionState(*_STATE.unpack(found))


def put_state(txn: Any, environment: Environment, topic: Topic, partition: int, new: PartitionState) -> None:
    """Write the state of one partition."""
    txn.put(state_key(topic.id, partition), new.pack(), db=environment.partitions)


def create(
    txn: Any, environment: Environment, name: str, partitions: int, config: Mapping[str, str] | None
) -> Topic:
    """Make a topic in a write transaction."""
    check_name(name)
    settings = _checked(name, dict(config or {}))
    if partitions < 1:
        raise LogError(f"topic `{name}` needs at least one partition, got {partitions}")
    if txn.get(name.encode(), db=environment.topics) is not None:
        raise LogError(f"topic `{name}` exists already: choose another name, or delete it first")
    number = int.from_bytes(txn.get(b"next-topic", b"\0", db=environment.meta), "big")
    txn.put(b"next-topic", (number + 1).to_bytes(4, "big"), db=environment.meta)
    topic = Topic(name, number, partitions, settings)
    txn.put(name.encode(), msgspec.json.encode(topic), db=environment.topics)
    for partition in range(partitions):
        put_state(txn, environment, topic, partition, PartitionState())
    return topic


def check_name(name: str) -> None:
    """Kafka's rule for the names of topics."""
    if not re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", name) or name in (".", ".."):
        raise LogError(
            f"a topic's name has 1 to 249 letters, digits, `.`, `_` and `-`, and is not `.` or `..`; got {name!r}"
        )


def _checked(name: str, config: dict[str, str]) -> dict[str, str]:
    policy = config.get("cleanup.policy", "delete")
    if {part.strip() for part in policy.split(",")} not in _POLICIES:
        raise LogError(
            f"`cleanup.policy` of topic `{name}` is `delete`, `compact` or `compact,delete`, got {policy!r}"
        )
    for setting in _NUMBERS:
        try:
            float(config.get(setting, "0"))
        except ValueError:
            raise LogError(f"`{setting}` of topic `{name}` is a number, got {config[setting]!r}") from None
    return config


def bounds(
    txn: Any, environment: Environment, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, PartitionState]:
    """The states of many partitions; a topic is looked up once."""
    found: dict[TopicPartition, PartitionState] = {}
    topics: dict[str, Topic] = {}
    for place in partitions:
        topic = topics.get(place.topic)
        if topic is None:
            topic = topics[place.topic] = find(txn, environment, place.topic)
        found[place] = state(txn, environment, topic, place.partition)
    return found
