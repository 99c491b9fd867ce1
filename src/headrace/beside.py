"""One piece of work beside the thread that goes on: a batch is published while the next one is under way."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SWITCH = 0.0005
"""Seconds after which a busy thread lets another one go on. With the usual 5 ms, the few dozen small steps in which the
next batch is started would take a quarter of a second beside one that is published.
"""


_busy = 0
_usual = SWITCH
_lock = threading.Lock()


@contextmanager
def switching_often() -> Iterator[None]:
    """Threads take turns more often meanwhile; the last one of those who want it brings the usual back."""
    global _busy, _usual
    with _lock:
        if not _busy:
            _usual = sys.getswitchinterval()
            sys.setswitchinterval(min(_usual, SWITCH))
        _busy += 1
    try:
        yield
    finally:
        with _lock:
            _busy -= 1
            if not _busy:
                sys.setswitchinterval(_usual)


class Beside:
    """At most one at a time.

    >>> done = []
    >>> beside = Beside()
    >>> beside.start(lambda: done.append("published"))
    >>> beside.wait()
    >>> done
    ['published']
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self, work: Callable[[], None]) -> None:
        """Begin, when what was begun before has ended; raises what that one has raised."""
        self.wait()

        def run() -> None:
            try:
                with switching_often():
                    work()
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=run, name="headrace-publish", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until nothing is under way; raises what the work has raised."""
        self.join(None)
        error, self._error = self._error, None
        if error is not None:
            raise error

    def join(self, timeout: float | None) -> None:
        """The same, for those who do not care how it ended."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
