"""How far a restore is, and what one took in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from headrace.spark.commit import Report
from headrace.spark.restores import RestoreEvent


@dataclass(frozen=True, slots=True)
class RestoreProgress:
    """All stores that are being restored, or wait for it, together.

    >>> print(
    ...     RestoreProgress(
    ...         tasks=4,
    ...         stores=4,
    ...         records=450_000,
    ...         bytes=12_300_000,
    ...         done=450_000,
    ...         total=1_000_000,
    ...         seconds=0.9,
    ...     )
    ... )
    restoring 4 stores of 4 tasks: 45 %, 450,000 records, 12.3 MB, 500,000/s, about 1.1 s left
    """

    tasks: int
    stores: int
    records: int
    bytes: int
    done: int
    total: int
    """Offsets of the changelogs that were passed, and that there are to pass."""
    seconds: float

    @classmethod
    def of(cls, events: Sequence[RestoreEvent], seconds: float) -> Self:
        """From the newest event of each store."""
        return cls(
            len({event.task for event in events}),
            len(events),
            sum(event.records for event in events),
            sum(event.bytes for event in events),
            sum(event.offset - event.start for event in events),
            sum(event.total for event in events),
            seconds,
        )

    @property
    def fraction(self) -> float:
        """Between 0 and 1."""
        return self.done / self.total if self.total else 1.0

    @property
    def seconds_left(self) -> float | None:
        """At the speed so far; None while nothing is known of it."""
        return self.seconds * (self.total - self.done) / self.done if self.done else None

    def __str__(self) -> str:
        rate = self.records / self.seconds if self.seconds else 0.0
        left = "" if self.seconds_left is None else f", about {duration(self.seconds_left)} left"
        return (
            f"restoring {count(self.stores, 'store')} of {count(self.tasks, 'task')}: {self.fraction:.0%}".replace(
                "%", " %"
            )
            + f", {self.records:,} records, {size(self.bytes)}, {rate:,.0f}/s{left}"
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """What a restore took, from the first task's begin to the last one's end.

    >>> print(Summary(tasks=4, stores=4, records=1_000_000, bytes=23_000_000, seconds=1.25))
    restored 4 stores of 4 tasks: 1,000,000 records, 23.0 MB in 1.2 s, 800,000/s
    """

    tasks: int
    stores: int
    records: int
    bytes: int
    seconds: float
    taken_over: int = 0
    """Tasks that took a standby's copy over, and read only what it had not."""

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        return (
            f"restored {count(self.stores, 'store')} of {count(self.tasks, 'task')}: {self.records:,} records, "
            f"{size(self.bytes)} in {duration(self.seconds)}, {self.rate:,.0f}/s"
            + (
                f", {count(self.taken_over, 'copy', 'copies')} of a standby taken over"
                if self.taken_over
                else ""
            )
        )


def summary_of(reports: Sequence[Report]) -> Summary | None:
    """What a batch has restored; None when that was nothing."""
    found = [
        report
        for report in reports
        if any(done.records for done in report.restores) or report.recovery == "taken_over"
    ]
    if not found:
        return None
    done = [restored for report in found for restored in report.restores]
    began = min(report.began for report in found)
    ended = max(report.began + report.seconds.get("prepare", 0.0) for report in found)
    return Summary(
        len(found),
        len(done),
        sum(restored.records for restored in done),
        sum(restored.bytes for restored in done),
        ended - began,
        sum(report.recovery == "taken_over" for report in found),
    )


def count(number: int, one: str, many: str | None = None) -> str:
    """A number of things.

    >>> count(1, "store"), count(2, "store"), count(2, "copy", "copies")
    ('1 store', '2 stores', '2 copies')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: float) -> str:
    """Bytes, for people.

    >>> size(999), size(1_500), size(2_000_000_000)
    ('999 bytes', '1.5 kB', '2.0 GB')
    """
    if number < 1000:
        return f"{number:.0f} bytes"
    for unit in ("kB", "MB", "GB"):
        number /= 1000
        if number < 1000:
            return f"{number:.1f} {unit}"
    return f"{number / 1000:.1f} TB"


def duration(seconds: float) -> str:
    """A time, for people.

    >>> duration(0.004), duration(0.25), duration(12.3), duration(184), duration(7300)
    ('4 ms', '0.25 s', '12 s', '3 min 4 s', '2 h 1 min')
    """
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 and f"{seconds:.1f}"[-1] != "0" else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
