"""Window specifications: pure time arithmetic, no state."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from headrace.errors import InvalidArgumentError, InvalidDurationError
from headrace.origin import caller

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_END_OF_TIME = 2**63 - 1
"""As Kafka Streams has it: the greatest long."""


def milliseconds(duration: timedelta, what: str, *, positive: bool = True) -> int:
    """A duration in whole milliseconds; refuses plain numbers and what makes no sense."""
    given: object = duration
    if not isinstance(given, timedelta):
        number = isinstance(given, int | float) and not isinstance(given, bool)
        of_number = f"timedelta(seconds={given!r}) or timedelta(milliseconds={given!r})"
        fix = of_number if number else "timedelta(minutes=5), for example"
        raise InvalidDurationError(f"`{what}` takes a timedelta, got {given!r}: write {fix}", origin=caller())
    result = duration // timedelta(milliseconds=1)
    if result < (1 if positive else 0):
        least = "at least one millisecond" if positive else "zero or more"
        raise InvalidDurationError(f"`{what}` must be {least}, got {shown(duration)}", origin=caller())
    return result


def shown(duration: timedelta) -> str:
    """A duration for a message; Python itself writes minus one second as `-1 day, 23:59:59`."""
    return f"-{-duration}" if duration < timedelta(0) else str(duration)


@dataclass(frozen=True, slots=True)
class EmitStrategy:
    """When an aggregate over windows sends its results on: `ON_WINDOW_UPDATE`, `ON_WINDOW_CLOSE`, or
    `on_window_close(idle=…)`.

    >>> EmitStrategy.ON_WINDOW_CLOSE.final
    True
    """

    final: bool
    """Once per window, and not with every record that changes it."""
    idle_ms: int | None = None
    """How long nothing comes before the wall clock closes windows; None: only records do."""

    ON_WINDOW_UPDATE: ClassVar[EmitStrategy]
    """With every record that changes a window."""
    ON_WINDOW_CLOSE: ClassVar[EmitStrategy]
    """Once per window, when no record can enter it any more."""

    @staticmethod
    def on_window_update() -> EmitStrategy:
        """`ON_WINDOW_UPDATE`."""
        return EmitStrategy.ON_WINDOW_UPDATE

    @staticmethod
    def on_window_close(*, idle: timedelta | None = None) -> EmitStrategy:
        """`ON_WINDOW_CLOSE`. With `idle`, windows close also when no record comes: once nothing has reached the
        aggregate for so long, its time goes on with the wall clock.

        >>> EmitStrategy.on_window_close(idle=timedelta(seconds=30)).idle_ms
        30000
        """
        return EmitStrategy(True, None if idle is None else milliseconds(idle, "idle"))


EmitStrategy.ON_WINDOW_UPDATE = EmitStrategy(False)
EmitStrategy.ON_WINDOW_CLOSE = EmitStrategy(True)


@dataclass(frozen=True, slots=True, init=False)
class TimeWindows:
    """Windows of a fixed size, aligned to the epoch: tumbling, or hopping when `advance` is smaller than the size.

    >>> TimeWindows(timedelta(minutes=1), grace=timedelta(seconds=10)).starts(61_000)
    [60000]
    """

    size_ms: int
    advance_ms: int
    grace_ms: int

    def __init__(
        self, size: timedelta, *, advance: timedelta | None = None, grace: timedelta = timedelta(0)
    ) -> None:
        size_ms = milliseconds(size, "size")
        advance_ms = size_ms if advance is None else milliseconds(advance, "advance")
        if advance_ms > size_ms:
            raise InvalidArgumentError(
                f"`advance` must not be longer than the window, got {advance} for windows of {size}",
                origin=caller(),
            )
        object.__setattr__(self, "size_ms", size_ms)
        object.__setattr__(self, "advance_ms", advance_ms)
        object.__setattr__(self, "grace_ms", milliseconds(grace, "grace", positive=False))

    def starts(self, timestamp: int) -> list[int]:
        """The starts of all windows that hold the timestamp, in order; never negative."""
        first = max(0, timestamp - self.size_ms + self.advance_ms) // self.advance_ms * self.advance_ms
        return list(range(first, timestamp + 1, self.advance_ms))

    @property
    def retention_ms(self) -> int:
        """How long a window must be kept: its size and its grace."""
        return self.size_ms + self.grace_ms


@dataclass(frozen=True, slots=True, init=False)
class UnlimitedWindows(TimeWindows):
    """One window that never ends: from `start` (by default the epoch) for ever. Earlier records are in no window.

    Unlike an aggregate without windows it counts null values, and its keys say where it began.

    >>> UnlimitedWindows().starts(61_000)
    [0]
    >>> UnlimitedWindows(start=datetime(2030, 1, 1, tzinfo=UTC)).starts(61_000)
    []
    """

    start_ms: int

    def __init__(self, *, start: datetime | None = None) -> None:
        if start is not None and (not isinstance(start, datetime) or start.tzinfo is None):
            raise InvalidArgumentError(
                f"`start` takes a datetime with a time zone, got {start!r}: write datetime(…, tzinfo=timezone.utc)",
                origin=caller(),
            )
        start_ms = 0 if start is None else (start - _EPOCH) // timedelta(milliseconds=1)
        if start_ms < 0:
            raise InvalidArgumentError(
                f"`start` must not be before 1970, got {start}: there are no records of such a time",
                origin=caller(),
            )
        object.__setattr__(self, "start_ms", start_ms)
        object.__setattr__(self, "size_ms", _END_OF_TIME - start_ms)
        object.__setattr__(self, "advance_ms", 1)
        object.__setattr__(self, "grace_ms", 0)

    def starts(self, timestamp: int) -> list[int]:
        """The start of the window, if it holds the timestamp."""
        return [self.start_ms] if timestamp >= self.start_ms else []


@dataclass(frozen=True, slots=True, init=False)
class SessionWindows:
    """Windows of activity, ended by a gap without records.

    >>> SessionWindows(gap=timedelta(minutes=5), grace=timedelta(seconds=30)).retention_ms
    330000
    """

    gap_ms: int
    grace_ms: int

    def __init__(self, gap: timedelta, *, grace: timedelta = timedelta(0)) -> None:
        object.__setattr__(self, "gap_ms", milliseconds(gap, "gap"))
        object.__setattr__(self, "grace_ms", milliseconds(grace, "grace", positive=False))

    @property
    def retention_ms(self) -> int:
        """How long a session must be kept after its end: the gap and the grace."""
        return self.gap_ms + self.grace_ms


@dataclass(frozen=True, slots=True, init=False)
class SlidingWindows:
    """Windows of records that are at most `difference` apart; both ends belong to the window.

    There is a window for every set of records that such a window can hold, and none for those it cannot.

    >>> SlidingWindows(timedelta(seconds=10), grace=timedelta(seconds=1)).retention_ms
    21000
    """

    difference_ms: int
    grace_ms: int

    def __init__(self, difference: timedelta, *, grace: timedelta = timedelta(0)) -> None:
        object.__setattr__(self, "difference_ms", milliseconds(difference, "difference"))
        object.__setattr__(self, "grace_ms", milliseconds(grace, "grace", positive=False))

    @property
    def size_ms(self) -> int:
        """From a window's start to its end."""
        return self.difference_ms

    @property
    def retention_ms(self) -> int:
        """How long a window must be kept: a late record also looks at the windows before its own."""
        return 2 * self.difference_ms + self.grace_ms


@dataclass(frozen=True, slots=True, init=False)
class JoinWindows:
    """How far apart two records of a stream-stream join may be: at most `difference`, in either direction.

    `before` and `after` change one direction: the other stream's record may be that much earlier or later than
    the first one's. One of them may be negative, as long as something is left between them.

    With `idle`, a record of a left or outer join that has met nobody goes out also when no record comes any more: once
    nothing has reached the join for so long, its time goes on with the wall clock.

    >>> windows = JoinWindows(timedelta(minutes=1), after=timedelta(minutes=5))
    >>> windows.before_ms, windows.after_ms
    (60000, 300000)
    """

    before_ms: int
    after_ms: int
    grace_ms: int
    idle_ms: int | None

    def __init__(
        self,
        difference: timedelta | None = None,
        *,
        before: timedelta | None = None,
        after: timedelta | None = None,
        grace: timedelta = timedelta(0),
        idle: timedelta | None = None,
    ) -> None:
        before, after = (
            before if before is not None else difference,
            after if after is not None else difference,
        )
        if before is None or after is None:
            raise InvalidArgumentError(
                "`JoinWindows` needs a `difference`, or both `before` and `after`", origin=caller()
            )
        before_ms, after_ms = _signed(before, "before"), _signed(after, "after")
        if before_ms + after_ms < 0:
            raise InvalidArgumentError(
                f"`before` and `after` leave nothing between them, got {shown(before)} and {shown(after)}: "
                f"their sum must be zero or more",
                origin=caller(),
            )
        object.__setattr__(self, "before_ms", before_ms)
        object.__setattr__(self, "after_ms", after_ms)
        object.__setattr__(self, "grace_ms", milliseconds(grace, "grace", positive=False))
        object.__setattr__(self, "idle_ms", None if idle is None else milliseconds(idle, "idle"))

    @property
    def size_ms(self) -> int:
        """From the earliest to the latest record that can be joined with one."""
        return self.before_ms + self.after_ms

    @property
    def retention_ms(self) -> int:
        """How long a record must be kept: the size and the grace."""
        return self.size_ms + self.grace_ms


def _signed(duration: timedelta, what: str) -> int:
    if isinstance(duration, timedelta) and duration < timedelta(0):
        return -milliseconds(-duration, what, positive=False)
    return milliseconds(duration, what, positive=False)
