"""Windows that close although no record comes: an operator's time goes on with the wall clock while it is idle."""

from __future__ import annotations

from typing import Any, Protocol

from headrace.processors.context import Cell, NodeContext, Process
from headrace.record import Headers


class Closing(Protocol):
    """What an operator has to close."""

    def next_close(self) -> int | None:
        """The operator's time at which the next result goes out; None when there is nothing to wait for."""
        ...

    def close(self, time: int) -> None:
        """The operator's time is so late: send on what is over."""
        ...


class IdleClock:
    """Once no record has come for `idle`, time goes on from where the last one left it, as fast as the wall clock.

    It goes no further than to the end of what it closes: a window that nobody has opened yet is not closed by it, so
    that records which come after a long silence are late only for windows that have been sent.
    """

    def __init__(
        self, ctx: NodeContext, idle: int, time: Cell, closing: Closing, *, of: str | None = None
    ) -> None:
        """`of` is the name under which several nodes have one time; each of them may close what is over for all."""
        self._idle, self._time, self._closing = idle, time, closing
        self._clock = ctx.task.wall_clock
        self._wall = ctx.memory("idle-since", None, of=of)
        self._from = ctx.memory("idle-from", -1, of=of)
        ctx.task.at_wall_clock(self)

    def around(self, process: Process) -> Process:
        """The operator's closure, which tells when a record has come."""
        wall, since, time, clock = self._wall, self._from, self._time, self._clock

        def seen(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            process(key, value, timestamp, headers)
            wall.value, since.value = clock(), time.value

        return seen

    def due(self) -> int | None:
        """By the wall clock: when the next result goes out if nothing comes until then."""
        if self._wall.value is None:
            return None
        close = self._closing.next_close()
        return None if close is None else self._wall.value + max(self._idle, close - self._from.value)

    def ring(self, now: int) -> None:
        """Nothing has come."""
        reached = self._from.value + now - self._wall.value
        last, close = -1, self._closing.next_close()
        while close is not None and last < close <= reached:
            if close > self._time.value:
                self._time.value = close
            self._closing.close(self._time.value)
            last, close = close, self._closing.next_close()
