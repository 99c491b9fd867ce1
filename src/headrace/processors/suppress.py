"""Updates of a table that are held back: until their window is closed, or for a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.errors import BufferFullError, InvalidArgumentError
from headrace.processors.context import NodeContext, Process
from headrace.processors.idle import IdleClock
from headrace.processors.registry import implements
from headrace.record import Headers, Windowed
from headrace.topology.operators import Suppress


@implements(Suppress)
def suppress(operator: Suppress, ctx: NodeContext) -> Process:
    """Each record is put into the buffer first; then all leave it whose time has come, with the timestamp, the headers
    and the metadata that they had. A row without a value is sent on unless results are final: then nobody has seen one.

    As in Kafka Streams an update is still in the buffer while it is sent on, and its old value is that of the update
    before it, whether that one was ever sent on or not.
    """
    buffer, time = ctx.store(operator.store), ctx.memory("stream-time", -1)
    forward, failed, task = ctx.forward, ctx.failed, ctx.task
    forward_as, metadata, moment = task.forward_as, task.metadata, task.moment
    wait, until_close, emits_early = operator.wait_ms, operator.until_close, operator.emits_early
    most_records, most_bytes = operator.max_records, operator.max_bytes
    limited = most_records is not None or most_bytes is not None
    ctx.at_restore(buffer.forget)

    def is_over() -> bool:
        return (most_records is not None and buffer.num_records > most_records) or (
            most_bytes is not None and buffer.buffer_size > most_bytes
        )

    def emit_first() -> None:
        key, change, update = buffer.first()
        if change.new is not None or not until_close:
            forward_as(update.metadata, forward, key, tuple(change), update.timestamp, update.headers)
        buffer.remove_first()

    def emit_until(last: int) -> None:
        while (first := buffer.min_timestamp()) is not None and first <= last:
            emit_first()

    def process(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        if timestamp > time.value:
            time.value = timestamp
        try:
            place = _end_of(key) if until_close else timestamp
            buffer.put(place, key, change, timestamp, headers, metadata())
        except Exception as error:
            failed(error, timestamp, headers)
            return
        emit_until(time.value - wait)
        full = limited and is_over()
        if full and emits_early:
            while buffer.num_records and is_over():
                emit_first()
        moment.time = timestamp
        buffer.flush()
        if full and not emits_early:
            failed(_full(operator, buffer), timestamp, headers)

    if operator.idle_ms is None:
        return process
    idle = _Idle(ctx, buffer, wait, emit_until)
    clock = IdleClock(ctx, operator.idle_ms, time, idle)
    return clock.around(idle.in_front_of(process) if until_close else process)


class _Idle:
    """What waits, for a clock that goes on while no record comes. The table itself has its own time and may change a
    window that was sent from here already: such an update comes too late, or the result would not have been final.
    """

    def __init__(self, ctx: NodeContext, buffer: Any, wait: int, emit: Callable[[int], None]) -> None:
        self._buffer, self._wait, self._emit = buffer, wait, emit
        self._closed, self._drop, self._moment = ctx.memory("idle-closed", -1), ctx.drop, ctx.task.moment

    def next_close(self) -> int | None:
        first = self._buffer.min_timestamp()
        return None if first is None else int(first) + self._wait

    def close(self, time: int) -> None:
        self._closed.value = time - self._wait
        self._emit(self._closed.value)
        self._moment.time = time
        self._buffer.flush()

    def in_front_of(self, process: Process) -> Process:
        """Drops updates of windows that were closed while nothing came."""
        closed, drop = self._closed, self._drop

        def judge(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
            if isinstance(key, Windowed) and key.end <= closed.value:
                drop("late")
                return
            process(key, change, timestamp, headers)

        return judge


def _end_of(key: Any) -> int:
    if not isinstance(key, Windowed):
        raise InvalidArgumentError(
            f"`until_window_closes` needs keys with a window, got {key!r}: hold back the windowed table itself"
        )
    return key.end


def _full(operator: Suppress, buffer: Any) -> BufferFullError:
    limits = [
        f"{held:,} {what} of at most {most:,}"
        for held, most, what in (
            (buffer.num_records, operator.max_records, "records"),
            (buffer.buffer_size, operator.max_bytes, "bytes"),
        )
        if most is not None
    ]
    return BufferFullError(
        f"the buffer `{operator.store}` of `suppress` is full: it holds {' and '.join(limits)}; allow it more "
        f"(`with_max_records`, `with_max_bytes`, `with_no_bound`), wait less, or let it send updates on early "
        f"(`until_time_limit` with `emit_early_when_full`)"
    )
