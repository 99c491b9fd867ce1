"""How a test gets at the topics of a driver: those to pipe into, and those to read from."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import Any, TypeAlias, TypeVar, overload

from headrace.errors import LogError
from headrace.given import Time, to_milliseconds
from headrace.record import Headers
from headrace.serdes import Serde
from headrace.testing.clock import ManualClock, forward_milliseconds
from headrace.testing.queues import RawRecord
from headrace.testing.serdes import TopicSerdes
from headrace.testing.topics import TestInputTopic, TestOutputTopic

K = TypeVar("K")
V = TypeVar("V")

As: TypeAlias = type[V] | Serde[V]
"""What `key` and `value` take: a type or a serde."""


class TopicGetters:
    """The short names, and those of Kafka Streams' driver."""

    _clock: ManualClock
    _serdes: TopicSerdes
    _produced: dict[str, deque[RawRecord]]
    """What was written to each topic and not read yet."""

    def pipe_bytes(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        """Process one record as it is in the topic: for poison records, or bytes from elsewhere."""
        raise TypeError(f"{type(self).__name__} does not define `pipe_bytes`")

    @overload
    def input(
        self, topic: str, key: As[K], value: As[V], *, start: Time | None = ..., auto_advance: timedelta = ...
    ) -> TestInputTopic[K, V]: ...
    @overload
    def input(
        self, topic: str, *, value: As[V], start: Time | None = ..., auto_advance: timedelta = ...
    ) -> TestInputTopic[Any, V]: ...
    @overload
    def input(
        self,
        topic: str,
        key: Any = ...,
        value: Any = ...,
        *,
        start: Time | None = ...,
        auto_advance: timedelta = ...,
    ) -> TestInputTopic[Any, Any]: ...
    def input(
        self,
        topic: str,
        key: Any = None,
        value: Any = None,
        *,
        start: Time | None = None,
        auto_advance: timedelta = timedelta(0),
    ) -> TestInputTopic[Any, Any]:
        """A topic to pipe records into. `key` and `value` are types or serdes; by default what the source reads.

        Records without a timestamp get `start` (by default the wall clock), moved by `auto_advance` each time.
        """
        return TestInputTopic(
            self,
            topic,
            self._serdes.of_input(topic, key, value),
            self._clock() if start is None else to_milliseconds(start, "start"),
            forward_milliseconds(auto_advance, "auto_advance"),
        )

    create_input_topic = input

    @overload
    def output(self, topic: str, key: As[K], value: As[V]) -> TestOutputTopic[K, V]: ...
    @overload
    def output(self, topic: str, *, value: As[V]) -> TestOutputTopic[Any, V]: ...
    @overload
    def output(self, topic: str, key: Any = ..., value: Any = ...) -> TestOutputTopic[Any, Any]: ...
    def output(self, topic: str, key: Any = None, value: Any = None) -> TestOutputTopic[Any, Any]:
        """A topic to read results from. `key` and `value` are types or serdes; by default what the sink writes."""
        return TestOutputTopic(self, topic, self._serdes.of_output(topic, key, value))

    create_output_topic = output

    def produced_topic_names(self) -> frozenset[str]:
        """Every topic that was written, changelogs and repartition topics included."""
        return frozenset(self._produced)

    def produced(self, topic: str) -> deque[RawRecord]:
        """What was written to a topic and not read yet, as bytes."""
        queue = self._produced.get(topic) or deque()
        if queue.maxlen is not None and len(queue) == queue.maxlen:
            raise LogError(
                f"of the internal topic `{topic}` only the last {queue.maxlen:,} records are kept, and so many are "
                "unread: read it between the records that you pipe"
            )
        return queue
