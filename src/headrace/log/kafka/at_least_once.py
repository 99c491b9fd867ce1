"""The writer of an application that asks for at-least-once: no transaction, so that readers see outputs at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as Place

from headrace.errors import LogError
from headrace.failpoints import failpoint
from headrace.log.base import Publication, TopicPartition
from headrace.log.commits import COMMIT_KEY
from headrace.log.kafka import settings
from headrace.log.kafka.commits import Found
from headrace.log.kafka.failures import reason
from headrace.log.kafka.producing import Watch, send_and_watch
from headrace.log.kafka.publisher import KafkaPublisher
from headrace.log.kafka.transaction import PATIENCE


class AtLeastOncePublisher(KafkaPublisher):
    """First everything else, and when the broker has it, the commit record: what dies in between is written again.

    A process that was taken over learns of it from the lease, within a few seconds, and not from the broker.
    """

    _positions: Any = None

    def _open_producer(self) -> Any:
        super()._open_producer()  # what a run with transactions may have left open is ended
        return settings.make(Producer, settings.producer(self._connection.config))

    def publish(self, publication: Publication) -> Mapping[TopicPartition, int]:
        """Outputs and changelogs; then the commit record; then the positions, which are for display."""
        if not self._open:
            raise LogError(f"the publisher of application `{self._application_id}` is closed")
        if self._lease.is_lost:
            raise self._fenced("its lease has another owner")
        outputs, changelogs = self._place(publication)
        failpoint("publish.before")
        watch = Watch()
        for records, partitions in (*outputs, *changelogs):
            self._send(lambda r=records, p=partitions: send_and_watch(self._producer, r, p, watch.report))
        failpoint("publish.records")
        self._flush(watch)
        failpoint("publish.flushed")
        written = {TopicPartition(r.topic, each) for r, planned in changelogs for each in set(planned)}
        ends = {place: watch.ends[place] for place in written}
        record = publication.commit(ends)
        headers = [("owner", self._lease.owner.encode())]
        for name, value in publication.kept.items():
            self._produce(value, name.encode(), None, watch)
        self._produce(record, COMMIT_KEY, headers, watch)
        failpoint("publish.sent")
        self._flush(watch)
        failpoint("publish.committed")
        self._last = Found(-1, record, tuple(headers))
        self._show(publication.positions)
        return ends

    def _produce(self, value: bytes | None, key: bytes, headers: Any, watch: Watch) -> None:
        self._send(
            lambda: self._producer.produce(
                self._topic, value, key, 0, on_delivery=watch.report, headers=headers
            )
        )

    def _send(self, call: Any) -> None:
        try:
            call()
        except (KafkaException, BufferError) as error:
            raise self._failed(
                reason(error).str() if isinstance(error, KafkaException) else str(error)
            ) from error

    def _flush(self, watch: Watch) -> None:
        left = self._producer.flush(PATIENCE)
        if watch.refused or left:
            raise self._failed(
                watch.refused[0] if watch.refused else f"{left} records were not delivered in time"
            )

    def _failed(self, why: str) -> LogError:
        return LogError(f"the commit of application `{self._application_id}` has failed: {why}")

    def _show(self, positions: Mapping[TopicPartition, int]) -> None:
        """To the consumer group, for Kafka's own tools; nothing waits for it, and nothing hangs on it."""
        if self._positions is None:
            group = settings.client(self._connection.config, group_id=self._application_id)
            self._positions = settings.make(Consumer, group | {"enable.auto.commit": False})
        places = [Place(place.topic, place.partition, offset) for place, offset in positions.items()]
        if places:
            self._positions.commit(offsets=places, asynchronous=True)

    def close(self) -> None:
        """Let the application go."""
        super().close()
        if self._positions is not None:
            self._positions.close()
            self._positions = None
