"""Punctuators: which are due, in which order, and when next (KIP-138).

Stream-time punctuators are aligned to zero, so that the first record fires them; wall-clock ones are first due one
interval after they were scheduled. An interval that was missed is not made up for. Kafka Streams keeps them in one of
Java's priority queues, which takes equal ones in an order of its own: see `priority`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.processors.context import NodeContext
from headrace.task.memory import Cell, Memory
from headrace.task.priority import is_heap, pop, push

NEVER = 1 << 62


class Schedule:
    """One punctuator; its cell holds [due, place in the heap]. A cancelled one of `init` keeps [-1, 0]."""

    __slots__ = ("_queue", "callback", "cancelled", "cell", "due", "first", "interval", "node")

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
        self.first = self.due = first
        self.interval = interval
        self.callback = callback
        self.cell = cell
        self.cancelled = False

    def cancel(self) -> None:
        """Never fire again."""
        self._queue.cancel(self)


class PunctuationQueue:
    """The punctuators of one clock, by due time; of equal ones, in the order in which Kafka Streams would take them."""

    __slots__ = ("_heap", "_memory", "_name", "_numbers", "_schedules", "due", "starting")

    def __init__(self, name: str, memory: Memory) -> None:
        self._name = name
        self._memory = memory
        self._schedules: list[Schedule] = []
        self._heap: list[Schedule] = []
        self._numbers: Counter[str] = Counter()
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
        push(self._heap, schedule)
        self._note()
        return schedule

    def cancel(self, schedule: Schedule) -> None:
        schedule.cancelled = True
        if schedule in self._schedules:
            self._schedules.remove(schedule)
        self._note()
        schedule.cell.value = [-1, 0]

    def refresh(self) -> None:
        """Go on from what the cells say: the task was restored."""
        for schedule in self._schedules:
            if schedule.cell.value is None:
                schedule.cell.value = [schedule.first, len(self._schedules)]
            schedule.due = schedule.cell.value[0]
            schedule.cancelled = schedule.due < 0
        waiting = [schedule for schedule in self._schedules if not schedule.cancelled]
        self._heap = sorted(waiting, key=lambda schedule: schedule.cell.value[1])
        if not is_heap(self._heap):
            waiting, self._heap = self._heap, []
            for schedule in waiting:
                push(self._heap, schedule)
        self._note()

    def fire(self, now: int, run: Callable[[Schedule, int], None]) -> bool:
        """Run all that are due, each once, with the current time (not the due time), as Kafka Streams does."""
        fired = False
        heap = self._heap
        while heap and heap[0].due <= now:
            schedule = pop(heap)
            if schedule.cancelled:
                continue
            try:
                run(schedule, now)
            except BaseException:
                push(heap, schedule)
                raise
            fired = True
            if not schedule.cancelled:
                missed = (now - schedule.due) // schedule.interval
                schedule.due += (missed + 1) * schedule.interval
                push(heap, schedule)
        self._note()
        return fired

    def _note(self) -> None:
        """Keep in the cells what a restart has to know."""
        self.due = NEVER
        for place, schedule in enumerate(self._heap):
            if not schedule.cancelled:
                schedule.cell.value = [schedule.due, place]
                self.due = min(self.due, schedule.due)


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
