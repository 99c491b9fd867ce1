"""Final results: windows that are sent on once, when they are closed, in order of time and key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.processors.context import NodeContext
from headrace.record import Headers, Windowed


def final_results(
    ctx: NodeContext,
    store: Any,
    *,
    size: int,
    lower: Callable[[int], int],
    upper: Callable[[int], int],
    progress: Callable[[int, int], bool] = lambda first, last: True,
) -> Callable[[Headers, int], None]:
    """For time windows: sends those that a new closing time has closed, with the headers of the record at hand.

    `lower` makes the first start to look at out of the closing time of the last look, `upper` the last one out of the
    new closing time; `progress` says whether there can be a window between the two.
    """
    emitted, forward, encode_key = ctx.memory("emitted", -1), ctx.forward, store.encode_key

    def emit(headers: Headers, close: int) -> None:
        last_start = upper(close)
        if emitted.value >= close or last_start < 0:
            return
        first_start = 0
        if emitted.value != -1:
            first_start = lower(emitted.value)
            if not progress(first_start, last_start):
                return
        found = store.fetch_all(first_start, last_start)
        for window, (value, timestamp) in _sorted(
            found, lambda window: (window.start, encode_key(window.key))
        ):
            forward(
                Windowed(window.key, window.start, window.start + size),
                (value, None, True),
                timestamp,
                headers,
            )
        emitted.value = close

    return emit


def final_sessions(ctx: NodeContext, store: Any) -> Callable[[Headers, int], None]:
    """The same for sessions: those that end before the closing time, with their ends as timestamps."""
    emitted, forward, encode_key = ctx.memory("emitted", -1), ctx.forward, store.encode_key

    def emit(headers: Headers, close: int) -> None:
        first, last = max(0, emitted.value), close - 1
        if emitted.value >= close or last < first:
            return
        found = store.find_sessions_range(None, None, first, last)
        for window, value in _sorted(
            ((window, value) for window, value in found if window.end <= last),
            lambda window: (window.end, window.start, encode_key(window.key)),
        ):
            forward(window, (value, None, True), window.end, headers)
        emitted.value = close

    return emit


def _sorted(
    found: Iterable[tuple[Windowed[Any], Any]], order: Callable[[Windowed[Any]], Any]
) -> list[tuple[Windowed[Any], Any]]:
    return sorted(found, key=lambda entry: order(entry[0]))
