"""Records of a stream that wait for the table they are joined with (KIP-923)."""

from __future__ import annotations

from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.record import Headers


def after_grace(ctx: NodeContext, store: str, grace: int, join: Process) -> Process:
    """Each record waits until the stream's time is `grace` past its own; one that is later than that has waited enough.

    A record without a key can find no row, however long it waits: `join` decides about it at once (docs/adr/0024).
    """
    buffer, time = ctx.store(store), ctx.memory("stream-time", -1)
    failed, task, moment = ctx.failed, ctx.task, ctx.task.moment
    ctx.at_restore(buffer.forget)

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None or value is None or timestamp < time.value - grace:
            join(key, value, timestamp, headers)
            return
        moment.time = timestamp
        try:
            buffer.put(key, value, timestamp, headers, task.metadata())
        except Exception as error:
            failed(error, timestamp, headers)
            return
        if timestamp > time.value:
            time.value = timestamp
        last = time.value - grace
        while (first := buffer.min_timestamp()) is not None and first <= last:
            record, metadata = buffer.first()
            task.forward_as(metadata, join, record.key, record.value, record.timestamp, record.headers)
            moment.time = timestamp
            buffer.remove_first()

    return process
