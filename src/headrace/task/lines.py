"""Calls that are under way, and the order that they must not disturb.

A node that makes asynchronous calls hands on its results later than it gets its records. What depends on the order of
these results has to wait for them too, or the same input would give other results in another batch: the nodes behind
it, and all nodes that share a store or an output topic with one of those. The way into these nodes from elsewhere leads
through the same line as the results, first come, first served. Whatever is not among them goes ahead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from itertools import combinations, product
from typing import Any, NamedTuple

from headrace.processors.context import Process
from headrace.record import Headers
from headrace.task.lanes import OneRow, Rows
from headrace.task.memory import Cell
from headrace.task.position import Position
from headrace.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode
from headrace.topology.operators import MapValuesAsync

AHEAD = 4
"""How many results for each call that may be under way can wait for a slow one before them."""


class _Item(NamedTuple):
    future: Future[Any] | None
    run: Callable[[], None]
    rows: Rows | OneRow | None
    row: int
    time: Any


class Line:
    """What waits for its turn: results of calls, and records that come after them."""

    __slots__ = ("_items", "_limit", "_mine", "_position", "_time")

    def __init__(self, position: Position, time: Cell, concurrency: int) -> None:
        self._position = position
        self._time = time
        self._limit = max(64, AHEAD * concurrency)
        self._items: deque[_Item] = deque()
        self._mine: list[_Item] | None = None
        """While one has its turn: what it adds comes right after it, before all others."""

    def __bool__(self) -> bool:
        return bool(self._items)

    def wait(self, future: Future[Any], settle: Callable[[], None]) -> None:
        """Run `settle` when its turn has come and the future is done."""
        self._add(future, settle)

    def behind(self, process: Process) -> Process:
        """The same node for those who come from elsewhere: they wait while somebody else does."""

        def enter(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            if self._items if self._mine is None else self._mine:
                self._add(None, lambda: process(key, value, timestamp, headers))
            else:
                process(key, value, timestamp, headers)

        return enter

    def drain(self) -> None:
        """Until nobody waits."""
        while self._items:
            self._next()

    def cancel(self) -> None:
        """The batch has failed: stop what is under way, and forget it."""
        # From the last: those that wait for room must not get it from those that are stopped.
        for item in reversed(self._items):
            if item.future is not None:
                item.future.cancel()
        self._items.clear()
        self._mine = None

    def _add(self, future: Future[Any] | None, run: Callable[[], None]) -> None:
        position = self._position
        item = _Item(future, run, position.rows, position.row, self._time.value)
        if self._mine is not None:
            self._mine.append(item)
            return
        items = self._items
        items.append(item)
        # When one has its turn does not change what comes of it: the order is kept.
        while items and (len(items) > self._limit or items[0].future is None or items[0].future.done()):
            self._next()

    def _next(self) -> None:
        item = self._items.popleft()
        position, time = self._position, self._time
        now = position.rows, position.row, time.value
        self._mine = []
        # The node behind sees the task as it was when the record came.
        position.rows, position.row, time.value = item.rows, item.row, item.time
        item.run()  # A result waits for its call here.
        position.rows, position.row, time.value = now
        self._items.extendleft(reversed(self._mine))
        self._mine = None


class Lines:
    """The lines of a task, by the nodes that make calls."""

    def __init__(self, nodes: Sequence[Node], position: Position, time: Cell) -> None:
        callers = {
            node.name: node.operator.concurrency
            for node in nodes
            if isinstance(node, ProcessorNode) and isinstance(node.operator, MapValuesAsync)
        }
        self._after = {name: _disturbed(name, nodes) for name in callers} if callers else {}
        self._line: dict[str, Line] = {}
        self._all: list[Line] = []
        for group in _groups(self._after):
            line = Line(position, time, max(callers[name] for name in group))
            self._line.update(dict.fromkeys(group, line))
            self._all.append(line)

    def __bool__(self) -> bool:
        return bool(self._all)

    def of(self, node: str) -> Line:
        """The line of a node that makes calls."""
        return self._line[node]

    def between(self, parent: str, children: Mapping[str, Process]) -> dict[str, Process]:
        """The ways from a node to its children, through the lines that they have to wait in."""
        if not self._after:
            return dict(children)
        return {child: self._way(parent, child, process) for child, process in children.items()}

    def drain(self) -> None:
        """Until nobody waits in any line."""
        while any(self._all):
            for line in self._all:
                line.drain()

    def cancel(self) -> None:
        """The batch has failed."""
        for line in self._all:
            line.cancel()

    def _way(self, parent: str, child: str, process: Process) -> Process:
        lines: dict[int, tuple[int, Line]] = {}
        for caller, after in self._after.items():
            if child in after and parent not in after and parent != caller:
                line = self._line[caller]
                lines[id(line)] = (len(after), line)
        # Who waits in several lines waits in the widest first, which the others are part of.
        for _, line in sorted(lines.values(), key=lambda found: found[0]):
            process = line.behind(process)
        return process


def _disturbed(caller: str, nodes: Sequence[Node]) -> frozenset[str]:
    """The nodes to whom the order of a caller's results matters."""
    children: dict[str, list[str]] = {node.name: [] for node in nodes}
    for node in nodes:
        if not isinstance(node, SourceNode):
            for parent in node.parents:
                children[parent].append(node.name)
    chosen = any(isinstance(node, SinkNode) and node.topic is None for node in nodes)
    shared = {node.name: _shared(node, chosen) for node in nodes}
    found: set[str] = set()
    waiting = list(children[caller])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += children[name]
            waiting += [other for other, what in shared.items() if what & shared[name]]
    return frozenset(found)


def _shared(node: Node, chosen: bool) -> frozenset[str]:
    """What several nodes can change or read: stores and topics. Where a sink chooses its topic, all of them are one."""
    if isinstance(node, ProcessorNode):
        return frozenset(f"store {name}" for name in node.stores)
    if isinstance(node, SinkNode):
        return frozenset({"topics" if chosen else f"topic {node.topic}"})
    return frozenset()


def _groups(after: Mapping[str, frozenset[str]]) -> Iterable[list[str]]:
    """Callers that need one line together, the widest first: those of which neither is wholly behind the other."""
    groups = [[name] for name in after]
    while True:
        pairs = combinations(groups, 2)
        found = next((p for p in pairs if any(_mixed(*callers, after) for callers in product(*p))), None)
        if found is None:
            break
        groups.remove(found[1])
        found[0].extend(found[1])
    return sorted(groups, key=lambda group: -max(len(after[name]) for name in group))


def _mixed(one: str, other: str, after: Mapping[str, frozenset[str]]) -> bool:
    if not after[one] & after[other]:
        return False
    nested = (other in after[one] and after[other] < after[one]) or (
        one in after[other] and after[one] < after[other]
    )
    return not nested
