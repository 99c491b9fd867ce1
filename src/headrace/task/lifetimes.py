"""Stores with a time to live: whose rows run out when, as records and the wall clock go by.

The time of such a store is the highest timestamp of the records that reach a node which it is connected to, whether
that node writes or only reads. It moves on before the node sees the record: what has run out by then is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headrace.processor import PunctuationType
from headrace.processors.context import Process
from headrace.record import NO_HEADERS, Headers
from headrace.state.expiry import NEVER, Expired, Expiry
from headrace.task.memory import Cell, Memory
from headrace.task.position import Moment, Position
from headrace.topology.nodes import ProcessorNode, SubTopology
from headrace.topology.operators import (
    StreamAggregate,
    StreamReduce,
    TableAggregate,
    TableFilter,
    TableJoinMerge,
    TableMapValues,
    TableReduce,
    TableSource,
    TableTransformValues,
)
from headrace.topology.stores import StoreSpec

KEEP_TABLES = (
    StreamAggregate,
    StreamReduce,
    TableAggregate,
    TableFilter,
    TableJoinMerge,
    TableMapValues,
    TableReduce,
    TableSource,
    TableTransformValues,
)
"""Operators whose `store` is a table: a row that runs out is deleted from it, and the nodes behind are told."""


class Lifetime:
    """One store with a time to live."""

    __slots__ = ("_expiry", "_listener", "_moment", "_position", "_time")

    def __init__(self, expiry: Expiry, time: Cell, position: Position, moment: Moment) -> None:
        self._expiry = expiry
        self._time = time
        self._position = position
        self._moment = moment
        self._listener: Callable[[Expired], None] | None = None

    def tell(self, forward: Process, sends_old_values: bool) -> None:
        """Rows that run out are changes of a table, for the nodes behind it."""

        def deleted(row: Expired) -> None:
            self._moment.time = row.timestamp
            old = row.value if sends_old_values else None
            forward(row.key, (None, old, True), row.timestamp, NO_HEADERS)

        self._listener = deleted

    def advance(self, now: int) -> None:
        """Move the store's time on, if it is later than it was."""
        if now > self._time.value:
            self._time.value = now
            if now > self._expiry.due:
                self._expire(now)

    def settle(self) -> None:
        """A late record may have put a row whose time was over already."""
        if self._time.value > self._expiry.due:
            self._expire(self._time.value)

    def due(self) -> int | None:
        """When the first row runs out at the earliest."""
        due = self._expiry.due
        return None if due >= NEVER else due + 1

    def ring(self, now: int) -> None:
        """By the wall clock, it is so late."""
        self.advance(now)
        self.settle()

    def _expire(self, now: int) -> None:
        gone = self._expiry.expire(now)
        if self._listener is not None and gone:
            # No record did this: what comes of it has no place in a topic.
            rows, self._position.rows = self._position.rows, None
            for row in gone:
                self._listener(row)
            self._position.rows = rows


class Lifetimes:
    """All stores of a task that have a time to live."""

    def __init__(
        self,
        sub: SubTopology,
        stores: Mapping[str, Any],
        memory: Memory,
        position: Position,
        moment: Moment,
        clock: Callable[[], int],
    ) -> None:
        self._clock = clock
        self._found: dict[str, tuple[StoreSpec, Lifetime]] = {}
        for spec in sub.stores:
            if spec.ttl_ms:
                expiry: Expiry = stores[spec.name].expiry
                time = memory.cell(f"{spec.name}/ttl-time", -1)
                self._found[spec.name] = (spec, Lifetime(expiry, time, position, moment))
                memory.at_restore(expiry.forget)
        self._owners: dict[str, str] = {}
        """Which node's table a store is; of several (a cogroup), the first."""
        for node in sub.nodes:
            if isinstance(node, ProcessorNode) and isinstance(node.operator, KEEP_TABLES):
                store = node.operator.store
                if store in self._found:
                    self._owners.setdefault(store, node.name)

    def alarms(self) -> Iterable[Lifetime]:
        """Those that go by the wall clock too."""
        return [lifetime for spec, lifetime in self._found.values() if _by_wall_clock(spec)]

    def around(self, node: ProcessorNode, process: Process, forward: Process, *, old_values: bool) -> Process:
        """A node's closure, with the time of its stores in front."""
        for name in node.stores:
            if name in self._found:
                spec, lifetime = self._found[name]
                if self._owners.get(name) == node.name:
                    lifetime.tell(forward, old_values)
                process = self._timed(lifetime, process, by_wall_clock=_by_wall_clock(spec))
        return process

    def _timed(self, lifetime: Lifetime, process: Process, *, by_wall_clock: bool) -> Process:
        advance, settle, clock = lifetime.advance, lifetime.settle, self._clock

        def by_records(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            advance(timestamp)
            process(key, value, timestamp, headers)
            settle()

        def by_both(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            advance(max(timestamp, clock()))
            process(key, value, timestamp, headers)
            settle()

        return by_both if by_wall_clock else by_records


def _by_wall_clock(spec: StoreSpec) -> bool:
    return spec.ttl_clock is PunctuationType.WALL_CLOCK_TIME
