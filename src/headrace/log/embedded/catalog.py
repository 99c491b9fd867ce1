"""Topics and the state of their partitions in the embedded log."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from headrace.errors import LogError
from headrace.log.base import TopicPartition
from headrace.log.embedded import settings
from headrace.log.embedded.environment import Environment
from headrace.log.embedded.settings import DEFAULTS
from headrace.meant import did_you_mean

_STATE = struct.Struct("<qqqq")
_PLACE = struct.Struct(">II")
LONGEST = 249
"""Bytes of a topic's name."""


class Topic(msgspec.Struct, frozen=True):
    """A topic as it is stored. The id is never used again, so a topic made anew has nothing of the old one."""

    name: str
    id: int
    partitions: int
    config: dict[str, str]

    @property
    def compacted(self) -> bool:
        return "compact" in self.setting("cleanup.policy")

    @property
    def expires(self) -> bool:
        """Whether old records are deleted: by default for ever kept, unlike on a broker, whose disk is shared."""
        return "delete" in self.setting("cleanup.policy") and (
            self.number("retention.ms") >= 0 or self.number("retention.bytes") >= 0
        )

    def setting(self, name: str) -> str:
        """A setting, or its default."""
        return self.config.get(name, DEFAULTS[name])

    def number(self, name: str) -> float:
        """A numeric setting, or its default."""
        return float(self.setting(name))


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
    key = name.encode()
    if not 0 < len(key) <= LONGEST:
        check_name(name)  # LMDB would not even look for it
    found = txn.get(key, db=environment.topics)
    if found is None:
        hint = did_you_mean(name, [topic.name for topic in all_topics(txn, environment)])
        raise LogError(
            f"topic `{name}` does not exist in the log in `{environment.path}`: "
            + (f"{hint} Else " if hint else "")
            + f"create it with `headrace topics create {name}`"
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
    known = 0 <= partition < topic.partitions
    found = txn.get(state_key(topic.id, partition), db=environment.partitions) if known else None
    if found is None:
        raise LogError(
            f"topic `{topic.name}` has partitions 0 to {topic.partitions - 1}, got partition {partition}"
        )
    return PartitionState(*_STATE.unpack(found))


def is_there(txn: Any, environment: Environment, topic: Topic) -> bool:
    """Whether the topic still exists; one of the same name that was made anew is another."""
    return txn.get(state_key(topic.id, 0), db=environment.partitions) is not None


def put_state(txn: Any, environment: Environment, topic: Topic, partition: int, new: PartitionState) -> None:
    """Write the state of one partition."""
    txn.put(state_key(topic.id, partition), new.pack(), db=environment.partitions)


def create(
    txn: Any, environment: Environment, name: str, partitions: int, config: Mapping[str, str] | None
) -> Topic:
    """Make a topic in a write transaction."""
    check_name(name)
    checked = settings.check(name, config or {})
    if partitions < 1:
        raise LogError(f"topic `{name}` needs at least one partition, got {partitions}")
    if txn.get(name.encode(), db=environment.topics) is not None:
        raise LogError(f"topic `{name}` exists already: choose another name, or delete it first")
    number = int.from_bytes(txn.get(b"next-topic", b"\0", db=environment.meta), "big")
    txn.put(b"next-topic", (number + 1).to_bytes(4, "big"), db=environment.meta)
    topic = Topic(name, number, partitions, checked)
    txn.put(name.encode(), msgspec.json.encode(topic), db=environment.topics)
    for partition in range(partitions):
        put_state(txn, environment, topic, partition, PartitionState())
    return topic


def check_name(name: str) -> None:
    """Kafka's rule for the names of topics."""
    if not re.fullmatch(rf"[a-zA-Z0-9._-]{{1,{LONGEST}}}", name) or name in (".", ".."):
        raise LogError(
            f"a topic's name has 1 to {LONGEST} letters, digits, `.`, `_` and `-`, and is not `.` or `..`; got {name!r}"
        )


def alter(txn: Any, environment: Environment, name: str, config: Mapping[str, str | None]) -> None:
    """Change settings of a topic in a write transaction; None takes one back to its default."""
    topic = find(txn, environment, name)
    left = {key: value for key, value in topic.config.items() if key not in config}
    new = settings.check(name, {**left, **{key: value for key, value in config.items() if value is not None}})
    txn.put(
        name.encode(),
        msgspec.json.encode(Topic(name, topic.id, topic.partitions, new)),
        db=environment.topics,
    )


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
