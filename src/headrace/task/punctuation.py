"""Punctuators: which are due, in which order, and when next (KIP-138).

Stream-time punctuators are aligned to zero, so that the first record fires them; wall-clock ones are first due one
interval after they were scheduled. An interval that was missed is not made up for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.processors.context import NodeContext
from headrace.task.memory import Cell, Memory

NEVER = 1 << 62


class Schedule:
    """One punctuator; its cell holds [due, order]. A cancelled one of `init` keeps [-1, 0]."""

    __slots__ = ("_queue", "callback", "cell", "first", "interval", "node")

    def __init__(
        self,
        queue: PunctuationQueue,
        node: NodeContext,
        first: int,
        interval: int,
        callback: Callable[[int], None],
        cell: Cell,
    ) -> None:
        self._queue = queue
        self.node = node
        self.first = first
        self.interval = interval
        self.callback = callback
        self.cell = cell

    def cancel(self) -> None:
        """Never fire again."""
        self._queue.cancel(self)


class PunctuationQueue:
    """The punctuators of one clock, by due time; of equal ones, the one that has waited longer goes first."""

    __slots__ = ("_memory", "_name", "_next", "_numbers", "_schedules", "due", "starting")

    def __init__(self, name: str, memory: Memory) -> None:
        self._name = name
        self._memory = memory
        self._schedules: list[Schedule] = []
        self._numbers: Counter[str] = Counter()
        self._next: Schedule | None = None
        self.starting = True
        """While processors are initialised: what is scheduled now is scheduled again after a restart, and so keeps
        its due time. What is scheduled later dies with the task, as in Kafka Streams."""
        self.due = NEVER
        """When the next one is due; NEVER when there is none."""

    def __len__(self) -> int:
        return len(self._schedules)

    def add(self, node: NodeContext, first: int, interval: int, callback: Callable[[int], None]) -> Schedule:
        """Schedule one for the first time at `first`, unless a restored task knows when it is due."""
        if self.starting:
            cell = self._memory.cell(f"{node.name}/{self._name}/{self._numbers[node.name]}", None)
            self._numbers[node.name] += 1
        else:
            cell = Cell(None)
        schedule = Schedule(self, node, first, interval, callback, cell)
        self._schedules.append(schedule)
        self.refresh()
        return schedule

    def cancel(self, schedule: Schedule) -> None:
        schedule.cell.value = [-1, 0]
        self._schedules.remove(schedule)
        self.refresh()

    def refresh(self) -> None:
        """Look again which one is next: one was added, cancelled, fired or restored."""
        for schedule in self._schedules:
            if schedule.cell.value is None:
                schedule.cell.value = [schedule.first, self._last_order() + 1]
        waiting = [schedule for schedule in self._schedules if schedule.cell.value[0] >= 0]
        self._next = min(waiting, key=lambda schedule: tuple(schedule.cell.value), default=None)
        self.due = NEVER if self._next is None else self._next.cell.value[0]

    def fire(self, now: int, run: Callable[[Schedule, int], None]) -> bool:
        """Run all that are due, each once, with the current time (not the due time), as Kafka Streams does."""
        fired = False
        while self._next is not None and self.due <= now:
            schedule = self._next
            due, order = schedule.cell.value
            run(schedule, now)
            fired = True
            if schedule.cell.value == [due, order]:
                missed = (now - due) // schedule.interval
                schedule.cell.value = [due + (missed + 1) * schedule.interval, self._last_order() + 1]
            self.refresh()
        return fired

    def _last_order(self) -> int:
        return max((s.cell.value[1] for s in self._schedules if s.cell.value is not None), default=-1)


def first_due(start: datetime | int, interval: int, now: int, node: str) -> int:
    """When a punctuator with a start of its own is due first: of the steps from there, the first that is not past."""
    if isinstance(start, datetime) and start.tzinfo is not None:
        at = (start - datetime.fromtimestamp(0, start.tzinfo)) // timedelta(milliseconds=1)
    elif isinstance(start, int) and not isinstance(start, bool):
        at = start
    else:
        at = -1
    if at < 0:
        raise InvalidArgumentError(
            f"`start` is milliseconds since the epoch, or a datetime with a time zone, got {start!r}",
            node=node,
            origin=caller(),
        )
    return at if at >= now else at + ((now - at) // interval + 1) * interval
