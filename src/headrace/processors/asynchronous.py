"""Calls that take a while: many under way at once, their results in the order of the records."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

from headrace.processors.context import NodeContext, Process
from headrace.processors.registry import implements
from headrace.record import Headers
from headrace.topology.operators import MapValuesAsync


@implements(MapValuesAsync)
def map_values_async(operator: MapValuesAsync, ctx: NodeContext) -> Process:
    """A new value for each record, null ones included, when its call is done and those of all records before it."""
    # Here and not above: a test of a topology without such calls need not wait for `asyncio` to be imported.
    from headrace.processors.calls import Calls

    mapper, with_key = operator.mapper, operator.with_key
    forward, failed, line = ctx.forward, ctx.failed, ctx.line
    calls = Calls(operator.concurrency, operator.timeout_ms)
    ctx.at_close(calls.close)

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        future = calls.start(mapper, (key, value) if with_key else (value,))

        def settle() -> None:
            try:
                new, error = future.result()
            except CancelledError as cancelled:
                new, error = None, cancelled
            if error is None:
                forward(key, new, timestamp, headers)
            elif isinstance(error, Exception):
                failed(error, timestamp, headers)
            else:
                raise error

        line.wait(future, settle)

    return process
