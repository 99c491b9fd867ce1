"""Appends outside an application: what producers write."""

from __future__ import annotations

import contextlib
import math
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.errors import HeadraceError, LogError
from headrace.log.base import LogConfig, Outgoing, TopicPartition
from headrace.log.kafka import settings
from headrace.log.kafka.connection import LATEST, Connection, connect
from headrace.log.kafka.failures import is_absent, is_unexplained, reason, translate
from headrace.log.kafka.producing import Lost, Watch, plan, send, send_and_watch
from headrace.log.kafka.transaction import Planned
from headrace.record import NO_HEADERS

FRESH = 1.0
"""Seconds for which the numbers of partitions are believed: others may make topics anew, or larger."""


class Appender:
    """Keeps its producers: opening one takes longer than most appends.

    How many partitions topics have is asked for at most once a second. A topic may have been deleted and made anew with
    fewer since then: what went to one that is no more, and only that, is placed anew, once.
    """

    def __init__(self, config: LogConfig) -> None:
        self.config = config
        self._id = f"headrace-{uuid.uuid4()}"
        """Of its transactions in a process: a new producer of that id ends what an old one has left open."""
        self._producer: Any = None
        self._transactional: Any = None
        self._lost: list[Lost] = []
        self._looked: dict[str, float] = {}
        """When topics were asked for."""

    @property
    def _connection(self) -> Connection:
        return connect(self.config)

    def append(self, records: Sequence[Outgoing], *, atomic: bool | None) -> None:
        """In a transaction if `atomic`; None: when there is more than one topic."""
        old = time.monotonic() - FRESH
        with contextlib.suppress(HeadraceError):  # a broker that does not answer may do so in a moment
            self._look([item for item in records if self._looked.get(item.topic, -math.inf) < old], FRESH)
        planned = plan(self._connection, records)
        if not planned:
            return
        if atomic or (atomic is None and len({item.topic for item, _ in planned}) > 1):
            self._append_together(records, planned)
            return
        lost = self._send(planned)
        if lost:
            self._look(records)
            lost = self._send(plan(self._connection, _again(lost, records)))
        if lost:
            raise self._failure(lost)

    def _look(self, records: Sequence[Outgoing], timeout: float = settings.TIMEOUT) -> None:
        topics = {item.topic for item in records}
        self._connection.look(topics, timeout)
        self._looked |= dict.fromkeys(topics, time.monotonic())

    def _send(self, planned: Planned) -> list[Lost]:
        """Send all, and wait until it is written. What went to partitions that are not there; other errors raise."""
        if self._producer is None:
            more = {"on_delivery": self._on_failure, "delivery.report.only.error": True}
            self._producer = settings.make(Producer, settings.producer(self.config) | more)
        refused: list[Lost] = []
        for item, partitions in planned:
            send(self._producer, item, partitions, refused)
        left = self._producer.flush(6 * settings.TIMEOUT)
        # What was refused at once came after what had been taken, and then was not delivered.
        lost, self._lost = [*self._lost, *refused], []
        if left:
            self._producer = None
            raise LogError(f"Kafka has not confirmed {left} records after {6 * settings.TIMEOUT:g} s")
        other = [each for each in lost if not is_absent(each.error)]
        if other:
            raise self._failure(other)
        return lost

    def _on_failure(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            key, value, headers = message.key(), message.value(), message.headers()
            at, partition = message.timestamp()[1], message.partition()
            self._lost.append(Lost(error, message.topic(), key, value, at, headers, partition))

    def _failure(self, lost: Sequence[Lost]) -> HeadraceError:
        self._producer = None
        error, topic = lost[0].error, lost[0].topic
        return translate(error, self.config, f"an append to topic `{topic}` ({len(lost)} records)")

    def _append_together(self, records: Sequence[Outgoing], planned: Planned) -> None:
        try:
            try:
                ends = self._transact(planned)
            except KafkaException as error:
                # A transaction may end before anybody has heard why.
                if not (is_absent(reason(error)) or is_unexplained(reason(error))):
                    raise
                self._look(records)
                ends = self._transact(plan(self._connection, records))
        except KafkaException as error:
            raise translate(error, self.config, "an append") from error
        self._wait_until_seen(ends)

    def _transact(self, planned: Planned) -> Mapping[TopicPartition, int]:
        """One transaction; nothing of it is kept if it raises. Where the partitions end now."""
        producer, self._transactional = self._transactional, None
        if producer is None:
            producer = settings.make(
                Producer, settings.transactional(self.config, f"{self._id}-{os.getpid()}")
            )
            producer.init_transactions(3 * settings.TIMEOUT)
        producer.begin_transaction()
        watch = Watch()
        try:
            for item, partitions in planned:
                send_and_watch(producer, item, partitions, watch.report)
            producer.flush(6 * settings.TIMEOUT)
            if watch.error is not None:
                raise KafkaException(watch.error)
            producer.commit_transaction(6 * settings.TIMEOUT)
        except BaseException:
            # What cannot be aborted, perhaps since nothing of it has reached the broker, ends with the next producer.
            with contextlib.suppress(KafkaException):
                producer.abort_transaction(settings.TIMEOUT)
            raise
        self._transactional = producer
        return watch.ends

    def _wait_until_seen(self, ends: Mapping[TopicPartition, int]) -> None:
        """The broker says that a transaction is committed a moment before readers see it."""
        until = time.monotonic() + settings.TIMEOUT
        while time.monotonic() < until:
            seen = self._connection.offsets(dict.fromkeys(ends, LATEST))
            if all(seen[place] >= end for place, end in ends.items()):
                return
            time.sleep(0.005)

    def close(self) -> None:
        """Nothing is lost: an append has been confirmed when it returns."""
        self._producer = self._transactional = None


def _again(lost: Sequence[Lost], records: Sequence[Outgoing]) -> list[Outgoing]:
    """Records that were not written, to be placed by their keys, unless somebody chose a partition."""
    chosen = {item.topic for item in records if item.partitions is not None}
    by_topic: dict[str, list[Lost]] = {}
    for each in lost:
        by_topic.setdefault(each.topic, []).append(each)
    return [
        Outgoing(
            topic,
            [each.key for each in those],
            [each.value for each in those],
            [each.timestamp for each in those],
            [tuple(each.headers or NO_HEADERS) for each in those],
            [each.partition for each in those] if topic in chosen else None,
        )
        for topic, those in by_topic.items()
    ]
