"""Consumer groups of the embedded log: partitions are shared by locks on files, positions are in the log itself.

A member has a file of its own under a lock that ends with its process, so that whoever looks sees who is alive. From
that every member works out by itself which partitions are whose, gives up those that are another's, and reads a
partition only while it holds the partition's lock: two never read one at a time, and nobody keeps a list.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from headrace.errors import ConfigError, LogError
from headrace.log.base import Revoke, TopicPartition
from headrace.log.embedded import catalog
from headrace.log.embedded.environment import Environment, acquire, release, storage_errors
from headrace.log.embedded.lock import FileLock

# How often a member looks who else is there.
_LOOK_SECONDS = 0.1
_LONGEST_NAME = 200


class Position(msgspec.Struct, array_like=True):
    """How far a group has read a partition. A topic made anew has another id, and nothing of it was read."""

    topic: str
    topic_id: int
    partition: int
    offset: int


def read_positions(txn: Any, environment: Environment, group: str) -> dict[TopicPartition, int]:
    """How far a group has read the topics that there are."""
    ids = {topic.name: topic.id for topic in catalog.all_topics(txn, environment)}
    return {
        TopicPartition(stored.topic, stored.partition): stored.offset
        for stored in _stored(txn, environment, group)
        if ids.get(stored.topic) == stored.topic_id
    }


def _stored(txn: Any, environment: Environment, group: str) -> list[Position]:
    found = txn.get(group.encode(), db=environment.groups)
    return [] if found is None else msgspec.json.decode(found, type=list[Position])


class EmbeddedGroup:
    """One member."""

    def __init__(self, directory: Path, name: str) -> None:
        if not 0 < len(name.encode()) <= _LONGEST_NAME:
            raise ConfigError(f"a group has a name of 1 to {_LONGEST_NAME} bytes, got {name!r}")
        self._name = name
        self._environment = acquire(directory)
        self._folder = self._environment.path / "groups" / _file_name(name)
        self._topics: Sequence[str] = ()
        self._member: FileLock | None = None
        self._owned: dict[TopicPartition, FileLock] = {}
        self._looked = 0.0
        self._open = True

    def join(self, topics: Sequence[str], revoke: Revoke) -> None:
        """Share the partitions of these topics with the other members."""
        self._topics, self._revoke = topics, revoke
        content = msgspec.json.encode(list(topics))
        self._looked = 0.0
        with storage_errors(self._environment.path):
            if self._member is not None:
                self._member.write(content)
            while self._member is None:
                # By age, so that a newcomer changes little for the others.
                member = FileLock(self._folder / "members" / f"{time.time_ns():020}-{uuid.uuid4().hex[:8]}")
                # Somebody who looks between the making of the file and its lock takes it for a dead one's.
                if member.acquire(content) and member.path.exists():
                    self._member = member
                else:
                    member.release(remove=False)

    def assignment(self) -> Collection[TopicPartition] | None:
        """The partitions that are this member's; looks around a few times a second."""
        now = time.monotonic()
        if self._member is not None and now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            with storage_errors(self._environment.path):
                self._share()
        return self._owned.keys()

    def _share(self) -> None:
        wanted = self._wanted()
        given_up = [place for place in self._owned if place not in wanted]
        if given_up:
            self._revoke(given_up)
            for place in given_up:
                self._owned.pop(place).release(remove=False)
        for place in wanted:
            if place not in self._owned:
                lock = FileLock(self._folder / f"{place.topic}-{place.partition}")
                if lock.acquire():
                    self._owned[place] = lock

    def _wanted(self) -> list[TopicPartition]:
        """The part of each topic that is this member's: neighbouring partitions, as even as can be."""
        assert self._member is not None
        members = self._members()
        wanted = []
        for name in self._topics:
            with self._environment.read() as txn:
                count = catalog.find(txn, self._environment, name).partitions
            sharing = sorted(member for member, topics in members.items() if name in topics)
            at = sharing.index(self._member.path.name)
            low, high = count * at // len(sharing), count * (at + 1) // len(sharing)
            wanted += [TopicPartition(name, partition) for partition in range(low, high)]
        return wanted

    def _members(self) -> dict[str, list[str]]:
        """The live members and their topics; what dead ones left is removed."""
        assert self._member is not None
        mine = self._member.path
        found = {mine.name: list(self._topics)}
        for file in mine.parent.iterdir():
            if file != mine and _is_locked(file):
                # Its topics may not be written yet: then it counts from the next look on.
                with contextlib.suppress(msgspec.DecodeError, FileNotFoundError):
                    found[file.name] = msgspec.json.decode(file.read_bytes(), type=list[str])
        return found

    def committed(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The next offset to read of those of the partitions of which the group has read something."""
        with self._environment.read() as txn:
            found = read_positions(txn, self._environment, self._name)
        return {place: found[place] for place in places if place in found}

    def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        """Note the next offsets to read; on disk when it returns."""
        for place in positions:
            if self._member is not None and place not in self._owned:
                raise LogError(
                    f"topic `{place.topic}`, partition {place.partition} is another member's of group `{self._name}` "
                    "by now: what was read of it here may be read again there"
                )
        environment = self._environment
        with environment.write() as txn:
            stored = {(old.topic, old.partition): old for old in _stored(txn, environment, self._name)}
            for place, offset in positions.items():
                topic = catalog.find(txn, environment, place.topic)
                stored[place] = Position(place.topic, topic.id, place.partition, offset)
            txn.put(self._name.encode(), msgspec.json.encode(list(stored.values())), db=environment.groups)

    def close(self) -> None:
        """Leave: the others take over when they look next."""
        if self._open:
            self._open = False
            for lock in self._owned.values():
                lock.release(remove=False)
            self._owned.clear()
            if self._member is not None:
                self._member.release(remove=True)
                self._member = None
            release(self._environment)


def _file_name(group: str) -> str:
    """The group's name as far as a file can have it; no two groups share one."""
    name = quote(group, safe="")
    return name if len(name) <= _LONGEST_NAME else f"{name[:100]}-{sha256(group.encode()).hexdigest()}"


def _is_locked(file: Path) -> bool:
    """Whether its owner is alive; if not, the file is removed."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.unlink(missing_ok=True)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
