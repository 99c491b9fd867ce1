"""A join of a stream with itself over one store: what the two sides would give, in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.record import Headers
from headrace.topology.operators import StreamSelfJoin


@implements(StreamSelfJoin)
def stream_self_join(operator: StreamSelfJoin, ctx: NodeContext) -> Process:
    """A record meets, as the left one, those that are kept; then it meets them as the right one, and itself in between.

    It meets itself before the first that is later, and not at all when it is too old to be kept.
    """
    windows = operator.windows
    before, after, retention = windows.before_ms, windows.after_ms, windows.retention_ms
    fetch = ctx.store(operator.store).fetch
    forward, failed, drop = ctx.forward, ctx.failed, ctx.drop
    time = ctx.memory("stream-time", -1)
    joiner, with_key = operator.joiner, operator.with_key

    def join(key: Any, left: Any, right: Any) -> Any:
        return joiner(key, left, right) if with_key else joiner(left, right)

    def results(key: Any, value: Any, timestamp: int) -> Iterator[tuple[Any, int]]:
        itself = join(key, value, value)
        if timestamp > time.value:
            time.value = timestamp
        is_due = timestamp > time.value - retention + 1
        for met, other in list(fetch(key, max(0, timestamp - before), max(0, timestamp + after))):
            yield join(key, value, other), max(timestamp, met)
        for met, other in list(fetch(key, max(0, timestamp - after), max(0, timestamp + before))):
            if is_due and met > timestamp:
                is_due = False
                yield itself, timestamp
            yield join(key, other, value), max(timestamp, met)
        if is_due:
            yield itself, timestamp

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None or value is None:
            drop("null key or value")
            return
        found = results(key, value, timestamp)
        while True:
            try:
                result = next(found, None)
            except Exception as error:
                failed(error, timestamp, headers)
                return
            if result is None:
                return
            forward(key, result[0], result[1], headers)

    return process
