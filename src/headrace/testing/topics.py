"""The two ends of a topology under test: topics to pipe records into, and topics to read results from."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.errors import InvalidArgumentError, LogError
from headrace.given import HeadersLike, Time, to_headers, to_milliseconds
from headrace.origin import caller
from headrace.record import Record
from headrace.resolve import SerdePair
from headrace.testing.arguments import read, written
from headrace.testing.clock import forward_milliseconds

if TYPE_CHECKING:
    from headrace.testing.topic_getters import TopicGetters

K = TypeVar("K")
V = TypeVar("V")


class TestInputTopic(Generic[K, V]):
    """Pipes records into a topic of a driver. Made by `TopologyTestDriver.input`."""

    __test__ = False  # pytest, this is not a test

    def __init__(
        self, driver: TopicGetters, topic: str, serdes: SerdePair, start: int, auto_advance: int
    ) -> None:
        self.topic = topic
        self._driver = driver
        self._key = serdes.key, serdes.key.serialize
        self._value = serdes.value, serdes.value.serialize
        self._time = start
        self._auto_advance = auto_advance

    def pipe(
        self, key: K | None, value: V | None, *, timestamp: Time | None = None, headers: HeadersLike = ()
    ) -> None:
        """Process one record; everything that follows from it is done when this returns.

        Without a timestamp it is the topic's own time, which moves by `auto_advance` after each such record.

        >>> from headrace import StreamsBuilder
        >>> from headrace.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> builder.stream("in", value=str).map_values(str.upper, value=str).to("out")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input("in").pipe("a", "hello", timestamp=5)
        ...     driver.output("out").read_record()
        Record(key='a', value='HELLO', timestamp=5, headers=())
        """
        if timestamp is None:
            at = self._time
            self._time += self._auto_advance
        else:
            at = to_milliseconds(timestamp, "timestamp")
            if at < 0:
                raise InvalidArgumentError(
                    f"`timestamp` must not be negative, got {at}: it is milliseconds since 1970",
                    origin=caller(),
                )
        self._driver.pipe_bytes(
            self.topic,
            None if key is None else written("key", self.topic, *self._key, key),
            None if value is None else written("value", self.topic, *self._value, value),
            at,
            to_headers(headers),
        )

    def pipe_input(self, *record: Any, timestamp: Time | None = None, headers: HeadersLike = ()) -> None:
        """`pipe` with the arguments of the original's: a record, a value, a key and a value, or these and a timestamp.

        >>> from headrace import StreamsBuilder
        >>> from headrace.testing import TestRecord, TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> builder.stream("in", value=str).to("out", value=str)
        >>> with TopologyTestDriver(builder.build(), initial_wall_clock_time=0) as driver:
        ...     topic = driver.create_input_topic("in", str, str)
        ...     topic.pipe_input("a")
        ...     topic.pipe_input("k", "b", 5)
        ...     topic.pipe_input(TestRecord("k", "c", timestamp=7))
        ...     driver.output("out").read_records_to_list()[1:]
        [Record(key='k', value='b', timestamp=5, headers=()), Record(key='k', value='c', timestamp=7, headers=())]
        """
        match record:
            case (Record() as whole,):
                self.pipe_record(whole)
            case (value,):
                self.pipe(None, value, timestamp=timestamp, headers=headers)
            case (key, value):
                self.pipe(key, value, timestamp=timestamp, headers=headers)
            case (key, value, at):
                self.pipe(key, value, timestamp=at, headers=headers)
            case _:
                raise InvalidArgumentError(
                    "`pipe_input` takes a record, a value, a key and a value, or these and a timestamp, got "
                    f"{len(record)} arguments",
                    origin=caller(),
                )

    def pipe_value(
        self, value: V | None, *, timestamp: Time | None = None, headers: HeadersLike = ()
    ) -> None:
        """`pipe` without a key."""
        self.pipe(None, value, timestamp=timestamp, headers=headers)

    def pipe_record(self, record: Record[K, V]) -> None:
        """`pipe` all of a record."""
        self.pipe(record.key, record.value, timestamp=record.timestamp, headers=record.headers)

    def pipe_record_list(self, records: Iterable[Record[K, V]]) -> None:
        """`pipe_record` for each, in order."""
        for record in records:
            self.pipe_record(record)

    def pipe_key_value_list(
        self,
        pairs: Iterable[tuple[K | None, V | None]],
        *,
        start: Time | None = None,
        advance: timedelta = timedelta(0),
    ) -> None:
        """`pipe` each (key, value): from `start` in steps of `advance`, or at the topic's own time.

        >>> from headrace import StreamsBuilder
        >>> from headrace.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> builder.stream("in", value=str).to("out", value=str)
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input("in").pipe_key_value_list(
        ...         [("a", "x"), ("b", "y")], start=0, advance=timedelta(seconds=1)
        ...     )
        ...     [record.timestamp for record in driver.output("out").read_records()]
        [0, 1000]
        """
        if start is None:
            for key, value in pairs:
                self.pipe(key, value)
            return
        at, step = to_milliseconds(start, "start"), forward_milliseconds(advance, "advance")
        for key, value in pairs:
            self.pipe(key, value, timestamp=at)
            at += step

    def pipe_value_list(
        self, values: Iterable[V | None], *, start: Time | None = None, advance: timedelta = timedelta(0)
    ) -> None:
        """`pipe_key_value_list` without keys."""
        self.pipe_key_value_list(((None, value) for value in values), start=start, advance=advance)

    def advance_time(self, duration: timedelta) -> None:
        """Move the topic's own time forward."""
        self._time += forward_milliseconds(duration, "advance")

    def __repr__(self) -> str:
        return f"<TestInputTopic `{self.topic}`>"


class TestOutputTopic(Generic[K, V]):
    """Reads what a driver wrote to a topic, oldest first, each record once. Made by `TopologyTestDriver.output`."""

    __test__ = False  # pytest, this is not a test

    def __init__(self, driver: TopicGetters, topic: str, serdes: SerdePair) -> None:
        self.topic = topic
        self._driver = driver
        self._serdes = serdes

    def read_record(self) -> Record[K, V]:
        """The next record, whole."""
        queue = self._driver.produced(self.topic)
        if not queue:
            topics = (
                ", ".join(f"`{topic}`" for topic in sorted(self._driver.produced_topic_names())) or "none"
            )
            raise LogError(
                f"there is no record left in `{self.topic}`; topics written so far: {topics}", origin=caller()
            )
        key, value, timestamp, headers = queue.popleft()
        read_key: Any = None if key is None else read("key", self.topic, self._serdes.key, key)
        read_value: Any = None if value is None else read("value", self.topic, self._serdes.value, value)
        return Record(read_key, read_value, timestamp, headers)

    def read_key_value(self) -> tuple[K, V]:
        """Key and value of the next record."""
        record = self.read_record()
        return record.key, record.value

    def read_value(self) -> V:
        """The value of the next record."""
        return self.read_record().value

    def read_records(self) -> list[Record[K, V]]:
        """All records that are left."""
        return [self.read_record() for _ in range(self.queue_size())]

    def read_key_values(self) -> list[tuple[K, V]]:
        """Keys and values of all records that are left."""
        return [(record.key, record.value) for record in self.read_records()]

    def read_values(self) -> list[V]:
        """The values of all records that are left."""
        return [record.value for record in self.read_records()]

    def read_key_values_to_map(self) -> dict[K, V]:
        """The last value of each key among all records that are left; each must have a key."""
        pairs = self.read_key_values()
        if any(key is None for key, _ in pairs):
            raise LogError(
                f"`read_key_values_to_map` wants keys, but a record in `{self.topic}` has none: use "
                "`read_key_values`",
                origin=caller(),
            )
        return dict(pairs)

    def queue_size(self) -> int:
        """How many records are left."""
        return len(self._driver.produced(self.topic))

    def is_empty(self) -> bool:
        """Whether all records were read."""
        return not self._driver.produced(self.topic)

    read_records_to_list = read_records
    read_key_values_to_list = read_key_values
    read_values_to_list = read_values
    get_queue_size = queue_size

    def __repr__(self) -> str:
        return f"<TestOutputTopic `{self.topic}`, {self.queue_size()} left>"
