"""Calls in an event loop, so many at a time, each for so long."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from types import FrameType, TracebackType
from typing import Any, TypeAlias

from headrace.processors.loop import LoopUser

Outcome: TypeAlias = tuple[Any, BaseException | None]
"""What a call returned, or what it raised."""


class Calls:
    """Starts the calls of one node, so many at a time, each for so long."""

    def __init__(self, concurrency: int, timeout_ms: int | None) -> None:
        self._user = LoopUser()
        self._free = asyncio.Semaphore(concurrency)
        self._timeout_ms = timeout_ms

    def start(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Outcome]:
        """A call, as soon as there is room for it."""
        return self._user.start(self._call(function, arguments))

    def close(self) -> None:
        """No more calls."""
        self._user.close()

    async def _call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
        async with self._free:
            task = asyncio.ensure_future(_guarded(function, arguments))
            try:
                seconds = None if self._timeout_ms is None else self._timeout_ms / 1000
                done, _ = await asyncio.wait({task}, timeout=seconds)
            except asyncio.CancelledError:
                task.cancel()
                raise
            if done:
                return task.result()
            late = timedelta(milliseconds=self._timeout_ms or 0)
            error = TimeoutError(f"no answer within {late}; the call was cancelled")
            error.__traceback__ = _traceback(task.get_coro())
            task.cancel()
            return None, error


async def _guarded(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """Nothing that a user's function raises may end the loop."""
    try:
        made = function(*arguments)
        if not inspect.isawaitable(made):
            raise TypeError(
                f"`map_values_async` takes an `async def` function, got one that returned {made!r}"
            )
        return await made, None
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        cancelled = RuntimeError("the call cancelled itself")
        cancelled.__traceback__ = error.__traceback__
        return None, cancelled
    except BaseException as error:
        return None, error


def _traceback(coroutine: Any) -> TracebackType | None:
    """Where a coroutine waits, as if it had raised there."""
    frames: list[FrameType] = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is None:
            break
        frames.append(frame)
        coroutine = getattr(coroutine, "cr_await", None)
    traceback = None
    for frame in reversed(frames):
        traceback = TracebackType(traceback, frame, frame.f_lasti, frame.f_lineno)
    return traceback
