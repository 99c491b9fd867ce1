"""Reading records of topics in any Python program."""

from __future__ import annotations

import time
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from headrace.clients.connect import connect
from headrace.clients.membership import Membership
from headrace.clients.reading import Reading, Row, check_still_there
from headrace.clients.record import ConsumerRecord, received
from headrace.errors import DeserializationError, InvalidArgumentError, LogError, OffsetOutOfRangeError
from headrace.given import Time, to_milliseconds
from headrace.log import TopicLog, TopicPartition
from headrace.origin import caller
from headrace.serdes import Serde, serde_for
from headrace.windows import milliseconds

if TYPE_CHECKING:  # what a checker takes for the types that nobody named
    from typing_extensions import TypeVar

    K = TypeVar("K", default=str)
    V = TypeVar("V", default=bytes)
else:
    K, V = typing.TypeVar("K"), typing.TypeVar("V")

_LONGEST_NAP = 0.05
_ADMISSION_SECONDS = 30
_FOREVER = timedelta(days=36_500)


class Consumer(Generic[K, V]):
    """Reads topics of the embedded log in `data_dir`, or of Kafka with `bootstrap_servers`.

    `key` and `value` are types or serdes, as for a stream; keys are text and values are bytes unless they say
    otherwise. It begins with what comes next, or with `from_beginning` at the first record.

    With a `group` it goes on where the group has stopped, and shares the partitions with the other consumers of the
    group, in whatever process they are. What was handed out is committed, now and then and at the end, once the next
    record (or batch) is asked for: after a crash some may be read again, none is left out.

    >>> import tempfile
    >>> from headrace import Admin, Producer
    >>> folder = tempfile.mkdtemp()
    >>> with Admin(data_dir=folder) as admin:
    ...     admin.create_topic("amounts", partitions=1)
    >>> with Producer(data_dir=folder) as producer:
    ...     for amount in (5, 7, 9):
    ...         producer.send("amounts", "alice", amount)
    >>> def read(count):
    ...     with Consumer("amounts", value=int, group="g", data_dir=folder, from_beginning=True) as consumer:
    ...         return [record.value for record in consumer.poll(timedelta(seconds=10), max_records=count)]
    >>> read(2), read(2)
    ([5, 7], [9])
    """

    def __init__(
        self,
        *topics: str,
        key: type[K] | Serde[K] = str,  # type: ignore[assignment]
        value: type[V] | Serde[V] = bytes,  # type: ignore[assignment]
        group: str | None = None,
        from_beginning: bool = False,
        auto_commit: bool = True,
        commit_interval: timedelta = timedelta(seconds=1),
        data_dir: str | Path = ".headrace",
        bootstrap_servers: str | None = None,
        kafka: Mapping[str, str] | None = None,
    ) -> None:
        self._serdes: dict[str | None, tuple[Serde[Any], Serde[Any]]] = {
            None: (serde_for(key), serde_for(value))
        }
        self._from_beginning = from_beginning
        self._log: TopicLog = connect(data_dir, bootstrap_servers, kafka)
        try:
            self._reading = Reading(self._log)
            every = milliseconds(commit_interval, "commit_interval", positive=False) if auto_commit else None
            self._members = Membership(self._log, group, every)
            self._waiting: Row | None = None
            self._look_at = 0.0
            self._open = True
            if topics:
                self.subscribe(*topics)
        except BaseException:
            self._log.close()
            raise

    def subscribe(
        self,
        *topics: str,
        key: type[Any] | Serde[Any] | None = None,
        value: type[Any] | Serde[Any] | None = None,
    ) -> None:
        """Read these topics as well, with types of their own if they are given.

        >>> import tempfile
        >>> from headrace import Admin
        >>> folder = tempfile.mkdtemp()
        >>> with Admin(data_dir=folder) as admin:
        ...     admin.create_topic("amounts", partitions=1)
        ...     admin.create_topic("names", partitions=1)
        >>> consumer = Consumer(data_dir=folder)
        >>> consumer.subscribe("amounts", value=int)
        >>> consumer.subscribe("names", value=str)
        >>> sorted(consumer.assignment())
        [TopicPartition(topic='amounts', partition=0), TopicPartition(topic='names', partition=0)]
        """
        if not topics:
            raise InvalidArgumentError("`subscribe` takes names of topics, got none", origin=caller())
        self._members.subscribe(topics)
        default_key, default_value = self._serdes[None]
        for topic in topics:
            self._serdes[topic] = (
                default_key if key is None else serde_for(key),
                default_value if value is None else serde_for(value),
            )

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Read these partitions, (topic, number), whoever else reads them; a group then only keeps the positions.

        >>> import tempfile
        >>> from headrace import Admin
        >>> folder = tempfile.mkdtemp()
        >>> Admin(data_dir=folder).create_topic("amounts", partitions=3)
        >>> consumer = Consumer(data_dir=folder)
        >>> consumer.assign([("amounts", 2)])
        >>> consumer.position("amounts", 2)
        0
        """
        self._members.assign([TopicPartition(topic, number) for topic, number in partitions])

    def poll(
        self, timeout: timedelta = timedelta(0), *, max_records: int = 500
    ) -> list[ConsumerRecord[K, V]]:
        """The next records; an empty list when none came within `timeout`."""
        if max_records < 1:
            raise InvalidArgumentError(f"`max_records` is at least 1, got {max_records}", origin=caller())
        first = self._next(time.monotonic() + milliseconds(timeout, "timeout", positive=False) / 1000)
        if first is None:
            return []
        found = [first]
        while len(found) < max_records and (row := self._reading.take()) is not None:
            try:
                found.append(self._record(row))
            except DeserializationError:
                self._waiting = row  # the good ones before it first; the next call tells
                break
        self._members.hand_out((record.topic, record.partition, record.offset) for record in found)
        return found

    def __iter__(self) -> Iterator[ConsumerRecord[K, V]]:
        """Records as they come, for ever."""
        return self.records(_FOREVER)

    def records(self, timeout: timedelta) -> Iterator[ConsumerRecord[K, V]]:
        """Records as they come, until none has come for `timeout`."""
        patience = milliseconds(timeout, "timeout", positive=False) / 1000
        while (record := self._next(time.monotonic() + patience)) is not None:
            self._members.hand_out([(record.topic, record.partition, record.offset)])
            yield record

    def read_to_end(self) -> Iterator[ConsumerRecord[K, V]]:
        """The records that are there now, and no later ones."""
        self.wait_for_assignment()
        ends = self._log.latest(self._assigned())
        while True:
            self._members.settle()
            self._refresh()
            row = self._take(ends)
            if row is None:
                return
            record = self._record(row)
            self._members.hand_out([(record.topic, record.partition, record.offset)])
            yield record

    def wait_for_assignment(self) -> None:
        """Return once the group has decided which partitions are this consumer's; without a group they all are."""
        deadline = time.monotonic() + _ADMISSION_SECONDS
        while self._members.assignment() is None:
            if time.monotonic() > deadline:
                raise LogError(
                    f"group `{self._members.group}` has not let this consumer in for {_ADMISSION_SECONDS} s"
                )
            time.sleep(_LONGEST_NAP / 10)

    def assignment(self) -> Collection[TopicPartition]:
        """The partitions that this consumer reads at the moment."""
        return list(self._assigned())

    def position(self, topic: str, partition: int) -> int:
        """The offset of the next record of a partition."""
        return self._assigned()[self._place(topic, partition)]

    def committed(self, topic: str, partition: int) -> int | None:
        """How far the group has read a partition; None before its first commit."""
        place = TopicPartition(topic, partition)
        return self._members.committed([place]).get(place)

    def commit(self) -> None:
        """Note for the group that all that was handed out is done with; it is kept when this returns."""
        self._check()
        self._members.commit()

    def seek(self, topic: str, partition: int, offset: int) -> None:
        """Go on at an offset, which must be there (or be the next one)."""
        place = self._place(topic, partition)
        first, end = self._log.earliest([place])[place], self._log.latest([place])[place]
        if not first <= offset <= end:
            raise OffsetOutOfRangeError(
                f"topic `{topic}`, partition {partition}: wanted offset {offset}, available are {first} to {end}",
                origin=caller(),
            )
        self._move({place: offset})

    def seek_to_beginning(self) -> None:
        """Go on with the first record of every partition."""
        self._move(self._log.earliest(self._assigned(check=False)))

    def seek_to_end(self) -> None:
        """Go on with what comes next."""
        self._move(self._log.latest(self._assigned(check=False)))

    def seek_to_time(self, moment: Time) -> None:
        """Go on in every partition with the first record that is not older."""
        at = to_milliseconds(moment, "moment")
        self._move(self._log.offsets_for_times(dict.fromkeys(self._assigned(check=False), at)))

    def close(self) -> None:
        """Commit what was handed out, leave the group, and give the log back."""
        if self._open:
            self._open = False
            try:
                self._reading.stop()
                self._members.close()
            finally:
                self._log.close()

    def __enter__(self) -> Consumer[K, V]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:  # what was in hand is not done with: it is for the next one
            self._members.take_back()
        self.close()

    def _next(self, deadline: float) -> ConsumerRecord[K, V] | None:
        nap = 0.001
        while True:
            self._members.settle()
            self._refresh()
            row = self._take(None)
            if row is not None:
                return self._record(row)
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(nap, left))
            nap = min(_LONGEST_NAP, nap * 1.5)

    def _take(self, until: Mapping[TopicPartition, int] | None) -> Row | None:
        row, self._waiting = self._waiting, None
        return row or self._reading.take(until)

    def _refresh(self) -> None:
        """Hear what the group says, but not for every record."""
        self._check()
        now = time.monotonic()
        if now >= self._look_at or not self._reading.positions:
            self._look_at = now + _LONGEST_NAP
            self._assigned()

    def _assigned(self, *, check: bool = True) -> Mapping[TopicPartition, int]:
        """The partitions and where they are; those that are new begin where the group was, or as they were told."""
        self._check()
        wanted = self._members.assignment() or ()
        gone = [place for place in self._reading.positions if place not in wanted]
        if gone:
            self._reading.drop(gone)
            self._members.forget(gone)
            if self._waiting is not None and (self._waiting.topic, self._waiting.partition) in gone:
                self._waiting = None
        new = [place for place in wanted if place not in self._reading.positions]
        if new:
            known = self._members.committed(new)
            fresh = [place for place in new if place not in known]
            began = self._log.earliest(fresh) if self._from_beginning else self._log.latest(fresh)
            if check:
                check_still_there(self._log, self._members.group, known)
            self._reading.move({**known, **began})
        return self._reading.positions

    def _move(self, positions: Mapping[TopicPartition, int]) -> None:
        self._waiting = None
        self._reading.move(positions)
        self._members.moved(positions)

    def _place(self, topic: str, partition: int) -> TopicPartition:
        place = TopicPartition(topic, partition)
        mine = self._assigned(check=False)
        if place not in mine:
            others = ", ".join(f"`{each.topic}` {each.partition}" for each in sorted(mine)) or "none yet"
            raise LogError(
                f"topic `{topic}`, partition {partition} is not read by this consumer; it reads: {others}",
                origin=caller(),
            )
        return place

    def _check(self) -> None:
        if not self._open:
            raise LogError("the consumer is closed", origin=caller())

    def _record(self, row: Row) -> ConsumerRecord[K, V]:
        return received(row, *(self._serdes.get(row.topic) or self._serdes[None]))
