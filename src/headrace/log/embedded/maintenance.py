"""Upkeep of the embedded log: retention, compaction, and joining small entries.

Everything is worked out from snapshots, and written in short transactions, each of which leaves the log whole:
a record goes away only when a newer one of its key is there already.
"""

from __future__ import annotations

import fcntl
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.log.base import TopicPartition
from headrace.log.embedded import catalog
from headrace.log.embedded.catalog import PartitionState, Topic
from headrace.log.embedded.compaction import compact, tidy
from headrace.log.embedded.entries import Head, parse_head, parse_key
from headrace.log.embedded.environment import Environment, storage_errors

_DELETES_PER_TRANSACTION = 1_000
# Its lock says that a round is under way, its time when the last one was begun.
_MARK = "maintenance"


@dataclass(slots=True)
class Report:
    """What one round of upkeep did."""

    compacted: int = 0
    """Records dropped because a newer one has their key."""
    expired: int = 0
    """Records dropped by `retention.ms` and `retention.bytes`."""
    joined: int = 0
    """Small entries that were joined."""
    busy: bool = False
    """Another process was at it, so nothing was done."""


def run(environment: Environment, now: int, stop: Callable[[], bool] = lambda: False) -> Report:
    """One round over all topics; `stop` may ask it to leave the rest for another time."""
    environment.env.reader_check()
    report = Report()
    with storage_errors(environment.path):
        descriptor = os.open(environment.path / _MARK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report.busy = True
            return report
        os.utime(descriptor)
        with environment.read() as txn:
            topics = catalog.all_topics(txn, environment)
        _remove_leftovers(environment)
        for topic in topics:
            for partition in range(topic.partitions):
                if stop():
                    return report
                if topic.expires:
                    report.expired += _expire(environment, topic, partition, now)
                if topic.compacted:
                    report.compacted += compact(environment, topic, partition, now, stop)
                else:
                    report.joined += tidy(environment, topic, partition)
    finally:
        os.close(descriptor)
    return report


def seconds_since(environment: Environment) -> float:
    """How long ago somebody began a round; infinite before the first."""
    try:
        return time.time() - (environment.path / _MARK).stat().st_mtime
    except OSError:
        return math.inf


def _expire(environment: Environment, topic: Topic, partition: int, now: int) -> int:
    """Delete the first entries while they are older than `retention.ms`, by the clock and by the topic's own time,
    and those that `retention.bytes` has no room for.

    Kafka goes by the clock alone, and so loses replayed history at once; here the newest `retention.ms` of a
    partition's own time always stay, and its last entry.
    """
    retention = topic.number("retention.ms")
    keep_from = _fits_from(environment, topic, partition)

    def is_old(state: PartitionState, head: Head, end: int) -> bool:
        late = retention >= 0 and head.max_timestamp < min(now, state.max_timestamp) - retention
        return (late and end < state.end) or end <= keep_from

    return _drop_first(environment, topic, partition, is_old)


def _fits_from(environment: Environment, topic: Topic, partition: int) -> int:
    """The offset from which on `retention.bytes` are kept. As in Kafka at least so much stays: whole entries go,
    and only while enough is left without them.
    """
    room = topic.number("retention.bytes")
    if room < 0:
        return 0
    with environment.read(buffers=True) as txn, txn.cursor(db=environment.entries) as cursor:
        # The first key behind the partition; the entry before it is the partition's last one.
        behind = catalog.state_key(topic.id, partition + 1)
        found = cursor.prev() if cursor.set_range(behind) else cursor.last()
        while found and parse_key(bytes(cursor.key()))[:2] == (topic.id, partition):
            room -= len(cursor.value())
            if room <= 0:
                return parse_key(bytes(cursor.key()))[2]
            found = cursor.prev()
    return 0


def delete_records(environment: Environment, before: Mapping[TopicPartition, int]) -> None:
    """Delete whole entries that end at or below the given offsets; the rest of an entry goes with it, later."""
    for place, offset in before.items():
        with environment.read() as txn:
            topic = catalog.find(txn, environment, place.topic)

        def is_done(state: PartitionState, head: Head, end: int, offset: int = offset) -> bool:
            return end <= offset

        _drop_first(environment, topic, place.partition, is_done)


def _drop_first(
    environment: Environment,
    topic: Topic,
    partition: int,
    is_old: Callable[[PartitionState, Head, int], bool],
) -> int:
    """Delete entries from the first on while `is_old(state, entry, its end)`; how many records that were."""
    dropped = 0
    more = True
    while more:
        more = False
        with environment.write() as txn:
            if not catalog.is_there(txn, environment, topic):
                return dropped
            state = catalog.state(txn, environment, topic, partition)
            before = state.earliest
            with txn.cursor(db=environment.entries) as cursor:
                found = cursor.set_range(catalog.state_key(topic.id, partition))
                for _ in range(_DELETES_PER_TRANSACTION):
                    if not found or parse_key(cursor.key())[:2] != (topic.id, partition):
                        break
                    head = parse_head(cursor.value())
                    end = parse_key(cursor.key())[2] + head.last_delta + 1
                    if not is_old(state, head, end):
                        break
                    dropped += head.count
                    state.earliest = end
                    cursor.delete()
                    found = bool(cursor.key())
                else:
                    more = True
            if state.earliest != before:
                state.cleaned = max(state.cleaned, state.earliest)
                catalog.put_state(txn, environment, topic, partition, state)
    return dropped


def delete_topic(environment: Environment, name: str) -> None:
    """Take the name away at once, then the records in short transactions."""
    with environment.write() as txn:
        topic = catalog.find(txn, environment, name)
        txn.delete(name.encode(), db=environment.topics)
        txn.put(b"deleted-%d" % topic.id, b"", db=environment.meta)
        for partition in range(topic.partitions):
            txn.delete(catalog.state_key(topic.id, partition), db=environment.partitions)
    _remove_leftovers(environment)


def _remove_leftovers(environment: Environment) -> None:
    """The records of deleted topics; a process that died on the way left the rest to the next one."""
    with environment.read() as txn, txn.cursor(db=environment.meta) as cursor:
        marks = [key for key, _ in cursor if key.startswith(b"deleted-")]
    for mark in marks:
        topic_id = int(mark.removeprefix(b"deleted-"))
        done = False
        while not done:
            with environment.write() as txn, txn.cursor(db=environment.entries) as cursor:
                found = cursor.set_range(catalog.state_key(topic_id, 0))
                for _ in range(_DELETES_PER_TRANSACTION):
                    done = not found or parse_key(cursor.key())[0] != topic_id
                    if done:
                        txn.delete(mark, db=environment.meta)
                        break
                    cursor.delete()
                    found = bool(cursor.key())
