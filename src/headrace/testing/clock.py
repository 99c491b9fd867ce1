"""Time for tests: moves only when told to."""

from __future__ import annotations

import time
from datetime import timedelta

from headrace.given import Time, to_milliseconds
from headrace.windows import milliseconds


class ManualClock:
    """A clock that stands still until it is moved.

    >>> clock = ManualClock(0)
    >>> clock.advance(timedelta(seconds=2))
    >>> clock()
    2000
    """

    __slots__ = ("now",)

    def __init__(self, start: Time | None = None) -> None:
        self.now = time.time_ns() // 1_000_000 if start is None else to_milliseconds(start, "start")

    def __call__(self) -> int:
        return self.now

    def advance(self, duration: timedelta) -> None:
        """Move on; time never goes back."""
        self.now += forward_milliseconds(duration, "advance")


def forward_milliseconds(duration: timedelta, what: str) -> int:
    """A duration of zero or more, in milliseconds."""
    return milliseconds(duration, what, positive=False)
