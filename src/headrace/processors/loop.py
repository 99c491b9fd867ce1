"""An event loop in a thread of its own, one per process, for as long as somebody uses it.

Not the loop of the thread that runs a task: a test driver may be used inside a user's own loop, and calls are to go on
while the task does other things.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.RLock()
_running: _Thread | None = None


class _Thread:
    """The loop, and how many use it."""

    def __init__(self) -> None:
        self.users = 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="headrace-calls", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        # The last user may be found gone by a collection that happens to run in the loop's own thread.
        if threading.current_thread() is not self.thread:
            self.thread.join(5)


def _release(thread: _Thread, process: int) -> None:
    global _running
    if process != os.getpid():
        return  # Made before a fork: that thread is not here.
    with _lock:
        thread.users -= 1
        if thread.users:
            return
        if _running is thread:
            _running = None
    thread.stop()


def _forget() -> None:
    global _running, _lock
    _running, _lock = None, threading.RLock()


os.register_at_fork(after_in_child=_forget)


class LoopUser:
    """Somebody's share in the loop: taken with the first call, given back by `close` or with the object itself."""

    __slots__ = ("__weakref__", "_release", "_thread")

    def __init__(self) -> None:
        self._thread: _Thread | None = None
        self._release: weakref.finalize[[_Thread, int], LoopUser] | None = None

    def start(self, call: Coroutine[Any, Any, T]) -> Future[T]:
        """Let a call go on in the loop."""
        if self._thread is None:
            self._thread = self._take()
        return asyncio.run_coroutine_threadsafe(call, self._thread.loop)

    def close(self) -> None:
        """Give the share back."""
        self._thread = None
        if self._release is not None:
            self._release()

    def _take(self) -> _Thread:
        global _running
        with _lock:
            if _running is None:
                _running = _Thread()
            _running.users += 1
            self._release = weakref.finalize(self, _release, _running, os.getpid())
            return _running
