"""The clients of one process for one cluster: made on first use, kept until the process ends."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from headrace.errors import LogError
from headrace.log.base import LogConfig, TopicPartition
from headrace.log.kafka import settings
from headrace.log.kafka.failures import is_passing, missing, reason, translate

EARLIEST, LATEST = -2, -1


class Connection:
    """Questions to the brokers.

    They go through a consumer that reads nothing: on a connection that also fetches, an answer waits behind the fetch.
    """

    def __init__(self, config: LogConfig) -> None:
        self.config = config
        self._lock = threading.Lock()
        self._partitions: dict[str, int] = {}
        self._consumers: dict[str, Any] = {}
        self._admin: Any = None
        self._closers: list[Callable[[], None]] = []

    def on_close(self, close: Callable[[], None]) -> None:
        """Call this too when the process ends."""
        self._closers.append(close)

    def _asking(self, isolation: str) -> Any:
        with self._lock:
            if isolation not in self._consumers:
                self._consumers[isolation] = settings.make(
                    Consumer, settings.consumer(self.config, isolation=isolation)
                )
            return self._consumers[isolation]

    @property
    def admin(self) -> Any:
        """The client that makes and describes topics."""
        with self._lock:
            if self._admin is None:
                self._admin = settings.make(AdminClient, settings.client(self.config))
            return self._admin

    def topics(self) -> dict[str, int]:
        """Every topic but Kafka's own, with its number of partitions."""
        try:
            found = self._asking("read_committed").list_topics(timeout=settings.TIMEOUT).topics
        except KafkaException as error:
            raise translate(error, self.config, "listing the topics") from error
        self._partitions = {
            name: len(topic.partitions) for name, topic in found.items() if not name.startswith("__")
        }
        return dict(self._partitions)

    def partitions(self, topic: str) -> int:
        """The number of partitions of a topic; LogError when there is none of that name."""
        if topic not in self._partitions and topic not in self.topics():
            raise missing(self.config, topic, self._partitions)
        return self._partitions[topic]

    def look(self, topics: Iterable[str], timeout: float = settings.TIMEOUT) -> None:
        """Ask again how many partitions these topics have."""
        for name in set(topics):
            try:
                found = self._asking("read_committed").list_topics(name, timeout=timeout).topics[name]
            except KafkaException as error:
                raise translate(error, self.config, f"asking for topic `{name}`") from error
            if found.error is None:
                self._partitions[name] = len(found.partitions)
            else:
                self.forget(name)

    def forget(self, topic: str) -> None:
        """Ask for this topic again next time."""
        self._partitions.pop(topic, None)

    def offsets(
        self, times: Mapping[TopicPartition, int], *, isolation: str = "read_committed"
    ) -> dict[TopicPartition, int]:
        """The offsets for timestamps, `EARLIEST` or `LATEST`; -1 where no record is as new."""
        if not times:
            return {}
        # A fifth of a millisecond; `AdminClient.list_offsets` gives the same and takes ten times as long.
        wanted = [Place(place.topic, place.partition, at) for place, at in times.items()]
        deadline = time.monotonic() + settings.TIMEOUT
        while True:
            try:
                found = self._asking(isolation).offsets_for_times(wanted, timeout=settings.TIMEOUT)
                failed = next((place.error for place in found if place.error is not None), None)
            except KafkaException as error:
                failed = reason(error)
            if failed is None:
                return {TopicPartition(place.topic, place.partition): place.offset for place in found}
            self.check(times)
            self._refresh(isolation)
            if not is_passing(failed) or time.monotonic() > deadline:
                raise translate(
                    failed, self.config, f"asking for offsets of {', '.join({p.topic for p in times})}"
                )
            time.sleep(0.02)

    def _refresh(self, isolation: str) -> None:
        """A client that once heard of no such topic would go on believing it."""
        try:
            self._asking(isolation).list_topics(timeout=settings.TIMEOUT)
        except KafkaException as error:
            raise translate(error, self.config, "listing the topics") from error

    def bounds(self, place: TopicPartition) -> tuple[int, int]:
        """The first offset and the end of a partition, with what is not committed yet."""
        first = self.offsets({place: EARLIEST}, isolation="read_uncommitted")[place]
        return first, self.offsets({place: LATEST}, isolation="read_uncommitted")[place]

    def check(self, places: Iterable[TopicPartition]) -> None:
        """LogError for the first topic or partition that does not exist."""
        topics = self.topics()
        for place in places:
            if place.topic not in topics:
                raise missing(self.config, place.topic, topics)
            if not 0 <= place.partition < topics[place.topic]:
                raise LogError(
                    f"topic `{place.topic}` has partitions 0 to {topics[place.topic] - 1}, "
                    f"got partition {place.partition}"
                )

    def wait_for_topic(self, topic: str, *, there: bool) -> None:
        """Brokers learn of a new or deleted topic a moment after the controller said yes."""
        deadline = time.monotonic() + settings.TIMEOUT
        self.forget(topic)
        while (topic in self.topics()) != there:
            if time.monotonic() > deadline:
                state = "not there" if there else "there"
                raise LogError(f"topic `{topic}` is still {state} after {settings.TIMEOUT:g} s")
            time.sleep(0.01)
        if there:
            places = [TopicPartition(topic, partition) for partition in range(self._partitions[topic])]
            self.offsets(dict.fromkeys(places, LATEST))

    def close(self) -> None:
        """Close the clients."""
        for close in self._closers:
            close()
        for consumer in self._consumers.values():
            consumer.close()
        self._consumers.clear()
        self._admin = None


_connections: dict[tuple[int, str], Connection] = {}
_guard = threading.Lock()
os.register_at_fork(after_in_child=lambda: globals().update(_guard=threading.Lock()))


def connect(config: LogConfig) -> Connection:
    """The connection of this process to a cluster. A child has its own: clients do not survive a fork."""
    key = (os.getpid(), repr((config.bootstrap_servers, sorted(config.kafka.items()))))
    with _guard:
        if key not in _connections:
            _connections[key] = Connection(config)
        return _connections[key]


@atexit.register
def _close_all() -> None:
    for (pid, _), connection in _connections.items():
        if pid == os.getpid():
            connection.close()
