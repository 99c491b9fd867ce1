"""Reading ranges from Kafka with one consumer that stays where it is between reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place

from headrace.errors import LogError, OffsetOutOfRangeError
from headrace.log.base import Chunk, TopicPartition
from headrace.log.kafka import settings
from headrace.log.kafka.buffer import Buffer
from headrace.log.kafka.connection import Connection
from headrace.log.kafka.failures import is_absent, missing, translate

_CHUNK_ROWS = 20_000
# Going on and dropping that many records is quicker than telling the consumer of a new position.
_SKIP_ROWS = 50_000
# Records of a partition that nobody asks for at the moment: beyond that many, stop fetching it.
_AHEAD_ROWS = 20_000
# A partition that nobody has read for so many seconds is not fetched any more.
_IDLE_SECONDS = 5.0
# How long records below the end of the log may stay behind an open transaction.
_PATIENCE = 70.0


class Reader:
    """Ranges of partitions. A range that begins where the last one ended costs no question to the broker."""

    def __init__(self, connection: Connection, *, isolation: str = "read_committed") -> None:
        self._connection = connection
        self._consumer: Any = settings.make(
            Consumer, settings.reading(connection.config, isolation=isolation)
        )
        self._lock = threading.RLock()
        self._buffers: dict[TopicPartition, Buffer] = {}
        self._known_topics: set[str] = set()

    def is_busy(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> bool:
        """Whether a read of one of these partitions is under way."""
        return any(place in self._buffers and self._buffers[place].busy for place in ranges)

    def read(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[Chunk]:
        """Records with start <= offset < end of each partition, in offset order per partition."""
        wanted = {place: span for place, span in ranges.items() if span[0] < span[1]}
        if not wanted:
            return
        with self._lock:
            self._place(wanted)
            left = {place: self._buffers[place] for place in wanted}
        finished = False
        progress = time.monotonic()
        try:
            while left:
                for place, buffer in list(left.items()):
                    end = wanted[place][1]
                    complete = buffer.has_all(end)
                    if complete or buffer.waiting(end) >= _CHUNK_ROWS:
                        with self._lock:
                            chunk = buffer.take(end)
                        if chunk is not None:
                            yield chunk
                            progress = time.monotonic()
                    if complete:
                        self._done(left.pop(place))
                if left:
                    with self._lock:
                        if self._fetch(0.1):
                            progress = time.monotonic()
                    self._check({place: wanted[place] for place in left}, time.monotonic() - progress)
            finished = True
        finally:
            if not finished:
                with self._lock:
                    self._drop(wanted)
                    self._known_topics -= {place.topic for place in wanted}

    def _place(self, wanted: Mapping[TopicPartition, tuple[int, int]]) -> None:
        """Have the consumer fetch the wanted partitions from where they are wanted, and no idle ones."""
        now = time.monotonic()
        idle = [
            place
            for place, buffer in self._buffers.items()
            if not buffer.busy and now - buffer.used > _IDLE_SECONDS
        ]
        moved = []
        for place, (start, _) in wanted.items():
            buffer = self._buffers.get(place)
            if buffer is not None and buffer.next <= start <= max(buffer.next + _SKIP_ROWS, buffer.seen):
                buffer.skip_to(start)
            elif buffer is not None:
                moved.append(place)
        self._drop({place for place in idle if place not in wanted} | set(moved))
        new = []
        for place, (start, _) in wanted.items():
            if place not in self._buffers:
                self._learn(place)
                self._buffers[place] = Buffer(place, start)
                new.append(Place(place.topic, place.partition, start))
            buffer = self._buffers[place]
            buffer.busy, buffer.used, buffer.wanted = True, now, wanted[place]
            if buffer.paused:
                buffer.paused = False
                self._consumer.resume([Place(*place)])
        if new:
            self._consumer.incremental_assign(new)

    def _learn(self, place: TopicPartition) -> None:
        # A consumer that meets a topic for the first time would take half a second to find its leaders.
        if place.topic not in self._known_topics:
            self._connection.check([place])
            try:
                self._consumer.list_topics(place.topic, timeout=settings.TIMEOUT)
            except KafkaException as error:
                raise translate(error, self._connection.config, f"looking for `{place.topic}`") from error
            self._known_topics.add(place.topic)

    def _drop(self, places: set[TopicPartition] | Mapping[TopicPartition, object]) -> None:
        dropped = [self._buffers.pop(place) for place in places if place in self._buffers]
        # A pause outlives the assignment: take it back, or the partition stays silent when it is assigned again.
        paused = [Place(*buffer.place) for buffer in dropped if buffer.paused]
        if paused:
            self._consumer.resume(paused)
        if dropped:
            self._consumer.incremental_unassign([Place(*buffer.place) for buffer in dropped])

    def _done(self, buffer: Buffer) -> None:
        buffer.busy = False
        buffer.used = time.monotonic()

    def _fetch(self, timeout: float) -> bool:
        """Put what has arrived into the buffers; wait for something at most `timeout` seconds."""
        # `consume` with a time-out waits for a full batch: so take what is there, and wait with `poll`.
        messages = self._consumer.consume(10_000, 0)
        if not messages:
            first = self._consumer.poll(timeout)
            if first is None:
                return False
            messages = [first, *self._consumer.consume(10_000, 0)]
        for place, run in _runs(messages):
            buffer = self._buffers.get(place)
            if buffer is None:
                continue
            if any(message.error() for message in run):
                self._add_with_errors(buffer, run)
            else:
                buffer.add(run)
            if place in self._buffers and not buffer.busy and not buffer.paused and len(buffer) > _AHEAD_ROWS:
                buffer.paused = True
                self._consumer.pause([Place(*buffer.place)])
        return True

    def _add_with_errors(self, buffer: Buffer, run: Sequence[Any]) -> None:
        good = []
        for message in run:
            error = message.error()
            if error is None:
                good.append(message)
            else:
                if good:
                    buffer.add(good)
                    good = []
                self._handle(buffer, error, message.offset())
        if good:
            buffer.add(good)

    def _handle(self, buffer: Buffer, error: KafkaError, offset: int) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            buffer.seen, buffer.fresh = max(buffer.seen, offset), False
        elif not buffer.busy:
            # Only read ahead, of a topic that is gone or was made anew meanwhile: not the matter of who reads now.
            self._drop({buffer.place})
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            first, end = self._connection.bounds(buffer.place)
            if buffer.fresh and first <= buffer.seen and buffer.wanted[1] <= end:
                # The consumer remembers a topic of that name from before it was made anew. Asked again, it does not.
                buffer.fresh = False
                self._consumer.incremental_unassign([Place(*buffer.place)])
                self._consumer.incremental_assign([Place(*buffer.place, buffer.seen)])
                return
            self._drop({buffer.place})
            raise _out_of_range(buffer.place, buffer.wanted, (first, end))
        elif is_absent(error):
            self._connection.forget(buffer.place.topic)
            self._drop({buffer.place})
            raise missing(self._connection.config, buffer.place.topic)
        elif not error.retriable():
            raise translate(error, self._connection.config, f"reading topic `{buffer.place.topic}`")

    def _check(self, left: Mapping[TopicPartition, tuple[int, int]], waited: float) -> None:
        """Nothing waits for ever: neither for records that are not there, nor for a broker that is gone."""
        for place, (_, end) in left.items():
            buffer = self._buffers.get(place)
            if buffer is not None and waited > 0.05:
                first, last = self._connection.bounds(place)
                if end > last or buffer.next < first:
                    raise _out_of_range(place, buffer.wanted, (first, last))
        if waited > _PATIENCE:
            place, (_, end) = next(iter(left.items()))
            raise LogError(
                f"topic `{place.topic}`, partition {place.partition}: waited {waited:.0f} s for the records before "
                f"offset {end}; is a transaction of another producer still open?"
            )

    def close(self) -> None:
        """Close the consumer."""
        with self._lock:
            self._buffers.clear()
            self._consumer.close()


_shared: dict[Connection, Reader] = {}
_guard = threading.Lock()


def shared_reader(connection: Connection) -> Reader:
    """The reader that this process keeps for a cluster."""
    with _guard:
        if connection not in _shared:
            _shared[connection] = Reader(connection)
            connection.on_close(_shared[connection].close)
        return _shared[connection]


def _runs(messages: Sequence[Any]) -> Iterable[tuple[TopicPartition, Sequence[Any]]]:
    """Messages of one partition after the other. Mostly there is but one, and then nobody need be asked in turn."""
    topics = {message.topic() for message in messages}
    partitions = {message.partition() for message in messages}
    if len(topics) == len(partitions) == 1:
        return [(TopicPartition(topics.pop(), partitions.pop()), messages)]
    return [(TopicPartition(*place), list(run)) for place, run in groupby(messages, _place_of)]


def _place_of(message: Any) -> tuple[str, int]:
    return message.topic(), message.partition()


def _out_of_range(
    place: TopicPartition, wanted: tuple[int, int], available: tuple[int, int]
) -> OffsetOutOfRangeError:
    return OffsetOutOfRangeError(
        f"topic `{place.topic}`, partition {place.partition}: wanted offsets {wanted[0]} to {wanted[1] - 1}, "
        f"available are {available[0]} to {available[1] - 1}; "
        + (
            "the older ones were deleted by retention or with the topic"
            if wanted[0] < available[0]
            else "was the topic deleted and made anew?"
        )
    )
