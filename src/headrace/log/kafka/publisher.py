"""The one writer of an application on Kafka."""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

from headrace.errors import FencedError, LogError
from headrace.failpoints import failpoint
from headrace.log.base import Publication, TopicPartition
from headrace.log.commits import COMMIT_KEY, commits_topic
from headrace.log.kafka import settings, topics, transaction
from headrace.log.kafka.commits import Found, newest
from headrace.log.kafka.connection import Connection
from headrace.log.kafka.failures import translate
from headrace.log.kafka.lease import LeaseKeeper
from headrace.log.kafka.producing import plan
from headrace.log.kafka.transaction import (
    AbortNeededError,
    FencedByBrokerError,
    InDoubtError,
    Planned,
    is_gone,
)

_ATTEMPTS = 5
logger = logging.getLogger("headrace")


class KafkaPublisher:
    """Publishes in one Kafka transaction; its transactional id is the application's."""

    def __init__(self, connection: Connection, application_id: str, *, take_over: bool) -> None:
        self._connection = connection
        self._application_id = application_id
        self._topic = commits_topic(application_id)
        self._ensure_topic()
        self._lease = LeaseKeeper(connection, self._topic, application_id, take_over=take_over)
        try:
            self._producer = self._open_producer()
            self._last = self._newest_commit()
            self._group = self._group_metadata()
        except BaseException:
            self._lease.release()
            raise
        self._open = True

    def _ensure_topic(self) -> None:
        """Made by the first start; small segments, so that compaction keeps up and a start reads little."""
        if self._topic not in self._connection.topics():
            compact = {
                "cleanup.policy": "compact",
                "segment.bytes": "4194304",
                "min.cleanable.dirty.ratio": "0.01",
            }
            try:
                topics.create(self._connection, self._topic, 1, compact)
            except LogError:
                if self._topic not in self._connection.topics():  # else another start was faster
                    raise

    def _open_producer(self) -> Any:
        """A new producer; `init_transactions` fences every older one and ends what it left open."""
        config = self._connection.config
        producer = settings.make(Producer, settings.transactional(config, self._application_id))
        try:
            transaction.step(producer.init_transactions, patience=3 * settings.TIMEOUT)
        except (AbortNeededError, InDoubtError) as error:
            if isinstance(error.__cause__, KafkaException):
                raise translate(
                    error.__cause__, config, f"opening the transactions of `{self._application_id}`"
                ) from error
            raise
        return producer

    def _group_metadata(self) -> Any:
        consumer = settings.make(
            Consumer, settings.client(self._connection.config, group_id=self._application_id)
        )
        try:
            return consumer.consumer_group_metadata()
        finally:
            consumer.close()

    def _newest_commit(self) -> Found | None:
        return newest(self._connection, self._topic, COMMIT_KEY, isolation="read_committed")

    def last_commit(self) -> bytes | None:
        """The newest commit record; None before the first commit."""
        return self._last.value if self._last is not None else None

    def publish(self, publication: Publication) -> Mapping[TopicPartition, int]:
        """Outputs, changelogs, the commit record and the positions, in one transaction."""
        if not self._open:
            raise LogError(f"the publisher of application `{self._application_id}` is closed")
        outputs, changelogs = self._place(publication)
        failpoint("publish.before")
        why = ""
        for attempt in range(_ATTEMPTS):
            mark = uuid.uuid4().hex.encode()
            try:
                return self._attempt(publication, outputs, changelogs, mark)
            except AbortNeededError as error:
                why, gone = str(error), is_gone(error)
                self._abort()
            except InDoubtError as error:
                why, gone = str(error), is_gone(error)
                if isinstance(error, FencedByBrokerError) and not self._lease.is_mine():
                    raise self._fenced(why) from error
                if self._settle(mark, why):
                    return self._ends
            if gone:
                self._connection.topics()  # a topic has fewer partitions than before
                outputs, changelogs = self._place(publication)
            time.sleep(0.05 * 2**attempt)
        raise LogError(
            f"the commit of application `{self._application_id}` has failed {_ATTEMPTS} times, the last time "
            f"because: {why}"
        )

    def _place(self, publication: Publication) -> tuple[Planned, Planned]:
        return plan(self._connection, publication.outputs), plan(self._connection, publication.changelogs)

    def _attempt(
        self, publication: Publication, outputs: Planned, changelogs: Planned, mark: bytes
    ) -> Mapping[TopicPartition, int]:
        headers = [("id", mark), ("owner", self._lease.owner.encode())]
        try:
            self._ends = transaction.write(
                self._producer, outputs, changelogs, publication.positions, self._group
            )
            record = publication.commit(self._ends)
        except (AbortNeededError, InDoubtError):
            raise
        except BaseException:
            self._abort()
            raise
        transaction.commit(self._producer, self._topic, record, headers, publication.kept)
        failpoint("publish.committed")
        self._last = Found(-1, record, tuple(headers))
        return self._ends

    def _abort(self) -> None:
        try:
            transaction.abort(self._producer)
        except InDoubtError as error:
            if isinstance(error, FencedByBrokerError) and not self._lease.is_mine():
                raise self._fenced(str(error)) from error
            self._producer = self._open_producer()

    def _settle(self, mark: bytes, why: str) -> bool:
        """The answer to a commit was lost: fence ourselves and let the log say whether it is there.

        But never fence somebody who has taken over meanwhile.
        """
        if not self._lease.is_mine():
            raise self._fenced("while this one could not reach the broker")
        self._producer = self._open_producer()
        found = self._newest_commit()
        there = found is not None and dict(found.headers).get("id") == mark
        logger.warning(
            "the commit of application `%s` was in doubt (%s); the log says that it is %s",
            self._application_id,
            why,
            "there" if there else "not there: publishing it again",
        )
        if there:
            self._last = found
            return True
        known = dict(self._last.headers).get("id") if self._last is not None else None
        if (dict(found.headers).get("id") if found is not None else None) != known:
            raise self._fenced("and has committed")
        return False

    def _fenced(self, why: str) -> FencedError:
        return FencedError(
            f"application `{self._application_id}` was taken over by another process ({why}): this one must stop"
        )

    def close(self) -> None:
        """Let the application go: another process may start it at once."""
        if self._open:
            self._open = False
            self._producer = None
            with contextlib.suppress(LogError):
                self._lease.release()
