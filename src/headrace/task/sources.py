"""Sources, compiled: read a record's bytes and hand it to the nodes behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.errors import CallbackError, ProcessingError
from headrace.log.base import Chunk
from headrace.origin import NOWHERE, raised_at
from headrace.processors.context import Process
from headrace.record import NO_HEADERS, Headers, Record
from headrace.resolve import SerdePair
from headrace.task.failures import Failures, describe
from headrace.task.lanes import Lane, OneRow, Rows, sequences
from headrace.task.memory import Cell, Memory
from headrace.task.position import Position
from headrace.timestamps import TimestampExtractor, WallclockTimestampExtractor, needs_the_past
from headrace.topology.nodes import SourceNode


class Source:
    """One source node of a task. `order` breaks ties between sources; `internal` is the topic and partition that
    users see of a repartition topic.
    """

    def __init__(
        self,
        node: SourceNode,
        order: int,
        serdes: SerdePair,
        forward: Process,
        position: Position,
        failures: Failures,
        memory: Memory,
        time: Cell | None,
        internal: tuple[str, int] | None,
        extractor: TimestampExtractor,
        clock: Callable[[], int],
    ) -> None:
        self.node = node
        self.order = order
        self._serdes = serdes
        self._forward = forward
        self._position = position
        self._failures = failures
        self._memory = memory
        self._internal = internal
        self._extractor = extractor
        self._clock = clock
        self._extracts = needs_the_past(extractor)
        self.accept_ready = forward if time is None else self._timed(time)
        """Advances the task's time, if anybody asks for it, and forwards."""
        self.accept = self._reading()
        """The same for a record that is still bytes."""

    def lanes(self, partitions: Sequence[Sequence[Chunk]]) -> list[list[Lane]]:
        """The chunks of each partition made ready: timestamps are extracted, negative ones are dropped, and where
        possible partitions are merged, so that the loop has one lane to follow.
        """
        if self._extracts:
            return [[self._extract(Rows.of(chunk), chunk.partition) for chunk in part] for part in partitions]
        parts = [sequence for chunks in partitions for sequence in sequences(chunks)]
        many = [Rows.of(chunk) for chunk in parts[0]] if len(parts) == 1 else [Rows.merged(parts)]
        if self._internal is not None:
            for rows in many:
                rows.topic, rows.partition = self._internal
        lanes = [Lane.of(rows) for rows in many]
        for lane in lanes:
            if len(lane) < len(lane.rows):
                self._judge(lane.rows)
        return [lanes]

    def run(self, lane: Lane) -> None:
        """The tight loop, for tasks in which nobody asks for the task's time."""
        position, forward, poison = self._position, self._forward, self._poison
        read_key, read_value = self._serdes.key.deserialize, self._serdes.value.deserialize
        if lane.ready or lane.headers is not None:
            self._run_slowly(lane)
            return
        position.rows = lane.rows
        columns = zip(lane.numbers, lane.keys, lane.values, lane.timestamps, strict=True)
        for row, raw_key, raw_value, timestamp in columns:
            position.row = row
            try:
                key = None if raw_key is None else read_key(raw_key)
                value = None if raw_value is None else read_value(raw_value)
            except Exception as error:
                poison(error)
                continue
            forward(key, value, timestamp, NO_HEADERS)
        position.rows = None

    def run_one(
        self,
        topic: str,
        partition: int,
        offset: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> None:
        """One record on its own."""
        if self._extracts or timestamp < 0:
            chunk = Chunk(topic, partition, [offset], [timestamp], [key], [value], [headers])
            self._run_slowly(self._extract(Rows.of(chunk), partition))
            return
        position = self._position
        if self._internal is not None:
            topic, partition = self._internal
        position.rows = OneRow(topic, partition, offset, key, value, timestamp, headers)
        position.row = 0
        self.accept(key, value, timestamp, headers)
        position.rows = None

    def _run_slowly(self, lane: Lane) -> None:
        position = self._position
        position.rows = lane.rows
        accept = self.accept_ready if lane.ready else self.accept
        all_headers = lane.headers or [NO_HEADERS] * len(lane)
        for row, key, value, timestamp, headers in zip(
            lane.numbers, lane.keys, lane.values, lane.timestamps, all_headers, strict=True
        ):
            position.row = row
            accept(key, value, timestamp, headers)
        position.rows = None

    def _reading(self) -> Process:
        accept_ready, poison = self.accept_ready, self._poison
        read_key, read_value = self._serdes.key.deserialize, self._serdes.value.deserialize

        def accept(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            try:
                if key is not None:
                    key = read_key(key)
                if value is not None:
                    value = read_value(value)
            except Exception as error:
                poison(error)
                return
            accept_ready(key, value, timestamp, headers)

        return accept

    def _timed(self, time: Cell) -> Process:
        forward = self._forward

        # A record that cannot be read never gets here: it does not move the time.
        def accept(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            if timestamp > time.value:
                time.value = timestamp
            forward(key, value, timestamp, headers)

        return accept

    def _extract(self, rows: Rows, partition: int) -> Lane:
        """Read everything first: the extractor sees the values, and its times decide the order."""
        highest = self._memory.cell(f"{self.node.name}/{rows.topic}/{partition}/time", -1)
        position = self._position
        read_key, read_value = self._serdes.key.deserialize, self._serdes.value.deserialize
        lane = Lane(rows, numbers := [], keys := [], values := [], timestamps := [], found := [], ready=True)
        position.rows = rows
        for row, (raw_key, raw_value) in enumerate(zip(rows.keys, rows.values, strict=True)):
            position.row = row
            headers = position.headers()
            try:
                key = None if raw_key is None else read_key(raw_key)
                value = None if raw_value is None else read_value(raw_value)
            except Exception as error:
                self._poison(error)
                continue
            timestamp = self._extracted(Record(key, value, rows.timestamps[row], headers), highest.value)
            if timestamp < 0:
                continue
            highest.value = max(highest.value, timestamp)
            numbers.append(row)
            keys.append(key)
            values.append(value)
            timestamps.append(timestamp)
            found.append(headers)
        position.rows = None
        return lane

    def _judge(self, rows: Rows) -> None:
        """Show the extractor what has no valid time of its own: it fails, or has it dropped."""
        position = self._position
        position.rows = rows
        for position.row, timestamp in enumerate(rows.timestamps):
            if timestamp < 0:
                self._extracted(Record(None, None, timestamp, position.headers()), -1)
        position.rows = None

    def _extracted(self, record: Record[Any, Any], highest: int) -> int:
        extractor = self._extractor
        if isinstance(extractor, WallclockTimestampExtractor):
            return self._clock()
        try:
            return int(extractor(record, highest))
        except Exception as error:
            # Without a time there is no order, so no handler is asked, as in Kafka Streams.
            raise CallbackError(
                f"the timestamp extractor raised {describe(error)}; return a negative number to drop a record",
                node=self.node.name,
                origin=self.node.origin if (where := raised_at(error)) == NOWHERE else where,
                metadata=self._position.metadata(),
            ) from error

    def _poison(self, error: Exception) -> None:
        if isinstance(error, ProcessingError):
            raise error
        key, value = self._position.raw()
        part, serde, data = "value", self._serdes.value, value
        if key is not None:
            try:
                self._serdes.key.deserialize(key)
            except Exception:
                part, serde, data = "key", self._serdes.key, key
        self._failures.poison(self.node.name, self.node.origin, part, serde, data or b"", error)
