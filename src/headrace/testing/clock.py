"""Time for tests: moves only when told to."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import TypeAlias

from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.windows import milliseconds

Time: TypeAlias = int | datetime
"""Milliseconds since the epoch, or a datetime with a time zone."""


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


def to_milliseconds(moment: Time, what: str) -> int:
    """Milliseconds since the epoch.

    >>> from datetime import timezone
    >>> to_milliseconds(datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc), "timestamp")
    1000
    """
    if isinstance(moment, int) and not isinstance(moment, bool):
        return moment
    if not isinstance(moment, datetime):
        raise InvalidArgumentError(
            f"`{what}` is milliseconds since the epoch or a datetime, got {moment!r}", origin=caller()
        )
    if moment.tzinfo is None:
        raise InvalidArgumentError(
            f"`{what}` is a datetime without a time zone: write {moment!r} with tzinfo=timezone.utc",
            origin=caller(),
        )
    epoch = datetime.fromtimestamp(0, moment.tzinfo)
    return (moment - epoch) // timedelta(milliseconds=1)
