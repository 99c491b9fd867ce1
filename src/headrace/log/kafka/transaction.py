"""One Kafka transaction, and what its failures mean."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place

from headrace.beside import Beside
from headrace.failpoints import failpoint
from headrace.log.base import Outgoing, TopicPartition
from headrace.log.commits import COMMIT_KEY
from headrace.log.kafka.failures import is_absent, is_fenced, reason
from headrace.log.kafka.producing import Watch, send_and_watch

PATIENCE = 60.0
"""Seconds for which a step of a transaction is tried; also the transaction's own time-out on the broker."""

Planned = Sequence[tuple[Outgoing, Sequence[int]]]


class AbortNeededError(Exception):
    """The transaction has failed and can be aborted; the same producer may try again."""


class InDoubtError(Exception):
    """The producer is of no use any more, or the answer was lost: only the log can say what happened."""


class FencedByBrokerError(InDoubtError):
    """The broker refuses the producer: another one took over, or the transaction was open for too long."""


def step(call: Callable[..., Any], *arguments: Any, patience: float | None = None) -> Any:
    """A call of the transactional API, repeated while librdkafka says that it may be."""
    deadline = time.monotonic() + (PATIENCE if patience is None else patience)
    while True:
        left = deadline - time.monotonic()
        try:
            return call(*arguments, max(left, 0.1))
        except KafkaException as error:
            cause = reason(error)
            if cause.retriable() and left > 0:
                continue
            raise classify(cause) from error


def classify(cause: KafkaError) -> AbortNeededError | InDoubtError:
    """Which of the three it is."""
    if is_fenced(cause):
        return FencedByBrokerError(cause.str())
    if cause.txn_requires_abort() or cause.code() == KafkaError._STATE:
        return AbortNeededError(cause.str())
    return InDoubtError(cause.str())


def is_gone(error: AbortNeededError | InDoubtError) -> bool:
    """Whether it has failed because a partition is not there."""
    return isinstance(error.__cause__, KafkaException) and is_absent(reason(error.__cause__))


def write(
    producer: Any, outputs: Planned, changelogs: Planned, positions: Mapping[TopicPartition, int], group: Any
) -> Mapping[TopicPartition, int]:
    """Begin, and write everything but the commit record; the ends of the changelogs."""
    watch = Watch()
    try:
        producer.begin_transaction()
        failpoint("publish.begun")
        for records, partitions in (*outputs, *changelogs):
            send_and_watch(producer, records, partitions, watch.report)
    except KafkaException as error:
        raise classify(reason(error)) from error
    failpoint("publish.records")
    offsets = Beside()
    if positions:
        places = [Place(place.topic, place.partition, offset) for place, offset in positions.items()]
        offsets.start(lambda: step(producer.send_offsets_to_transaction, places, group))
    # Beside the offsets, for two reasons: neither waits for the other, and records do not wait for more to come.
    left = producer.flush(PATIENCE)
    offsets.wait()
    failpoint("publish.offsets")
    if watch.refused or left:
        raise AbortNeededError(
            watch.refused[0] if watch.refused else f"{left} records were not delivered in time"
        ) from (None if watch.error is None else KafkaException(watch.error))
    failpoint("publish.flushed")
    written = {
        TopicPartition(records.topic, each) for records, planned in changelogs for each in set(planned)
    }
    return {place: watch.ends[place] for place in written}


def commit(
    producer: Any,
    topic: str,
    record: bytes,
    headers: list[tuple[str, bytes]],
    kept: Mapping[str, bytes | None],
) -> None:
    """Add the commit record and what is kept beside it, and commit."""
    try:
        for name, value in kept.items():
            producer.produce(topic, value, name.encode(), 0)
        producer.produce(topic, record, COMMIT_KEY, 0, headers=headers)
    except BufferError as error:
        raise AbortNeededError(str(error)) from error
    except KafkaException as error:
        raise classify(reason(error)) from error
    failpoint("publish.sent")
    step(producer.commit_transaction)


def abort(producer: Any) -> None:
    """Abort what is open; InDoubtError when the producer cannot even do that."""
    try:
        step(producer.abort_transaction)
    except AbortNeededError as error:
        raise InDoubtError(str(error)) from error
