"""Handing records to a producer: the partition is decided here, so that both logs agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from headrace.errors import LogError
from headrace.log.base import Outgoing, TopicPartition
from headrace.log.kafka.connection import Connection
from headrace.log.kafka.failures import is_absent, is_unexplained
from headrace.partitioning import partitions_for

Report = Callable[[Any, Any], None]
"""Called with (error, message) when a record has been delivered, or could not be."""


class Lost(NamedTuple):
    """A record that was not written, and why."""

    error: KafkaError
    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Any
    partition: int


_REFUSED = {KafkaError._INVALID_ARG, KafkaError.MSG_SIZE_TOO_LARGE}
_turn = 0


def partitions_of(records: Outgoing, count: int) -> Sequence[int]:
    """The partition of every record; those without a key take turns."""
    global _turn
    if isinstance(records.partitions, int):
        wanted: Sequence[int] = [records.partitions] * len(records)
    elif records.partitions is not None:
        wanted = records.partitions
    else:
        wanted = partitions_for(records.keys, count, start=_turn).tolist()
        _turn += len(records)
        return wanted
    if wanted and not (min(wanted) >= 0 and max(wanted) < count):
        wrong = min(wanted) if min(wanted) < 0 else max(wanted)
        raise LogError(f"topic `{records.topic}` has partitions 0 to {count - 1}, got partition {wrong}")
    return wanted


def plan(connection: Connection, records: Sequence[Outgoing]) -> list[tuple[Outgoing, Sequence[int]]]:
    """Decide all partitions before anything is sent; a missing topic is found out here."""
    return [(item, partitions_of(item, connection.partitions(item.topic))) for item in records if len(item)]


def send(producer: Any, records: Outgoing, partitions: Sequence[int], lost: list[Lost]) -> None:
    """Hand all records over, but for those that are `lost`, since the client knows that their partition is not there;
    the network goes on in librdkafka's threads.
    """
    _send_rows(producer, records.topic, _rows(records, partitions, 0, len(records)), lost=lost)


def send_and_watch(producer: Any, records: Outgoing, partitions: Sequence[int], report: Report) -> None:
    """The same; `report` is called for the last record of every partition."""
    last = sorted({partition: index for index, partition in enumerate(partitions)}.values())
    done = 0
    for index in last:
        _send_rows(producer, records.topic, _rows(records, partitions, done, index))
        _send_rows(producer, records.topic, _rows(records, partitions, index, index + 1), report)
        done = index + 1


def _rows(records: Outgoing, partitions: Sequence[int], low: int, high: int) -> Iterator[tuple[Any, ...]]:
    headers = (
        [list(row) for row in records.headers[low:high]]
        if records.headers is not None
        else [None] * (high - low)
    )
    return zip(
        records.keys[low:high],
        records.values[low:high],
        records.timestamps[low:high],
        headers,
        partitions[low:high],
        strict=True,
    )


def _send_rows(
    producer: Any,
    topic: str,
    rows: Iterator[tuple[Any, ...]],
    report: Report | None = None,
    lost: list[Lost] | None = None,
) -> None:
    produce = producer.produce
    for key, value, timestamp, headers, partition in rows:
        # librdkafka takes the timestamp 0 for "now": one millisecond off is the lesser evil.
        stamp = timestamp or 1
        while True:
            try:
                produce(topic, value, key, partition, report, None, stamp, headers)
                break
            except BufferError:
                producer.poll(0.01)
            except KafkaException as error:
                if lost is not None and is_absent(error.args[0]):
                    lost.append(Lost(error.args[0], topic, key, value, timestamp, headers, partition))
                    break
                if error.args[0].code() not in _REFUSED:
                    raise
                raise LogError(
                    f"topic `{topic}`: a record of {len(value or b'')} bytes was refused: {error.args[0].str()}"
                ) from error


class Watch:
    """Learns from delivery reports where partitions end, and why records were refused."""

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}
        self.refused: list[str] = []
        self.error: KafkaError | None = None
        """The first one that is a reason: that a record was thrown away is only what follows from another error."""

    def report(self, error: Any, message: Any) -> None:
        """A delivery report."""
        if error is not None:
            if self.error is None or is_unexplained(self.error):
                self.error = error
            self.refused.append(f"topic `{message.topic()}`, partition {message.partition()}: {error.str()}")
            return
        place = TopicPartition(message.topic(), message.partition())
        self.ends[place] = max(message.offset() + 1, self.ends.get(place, 0))
