"""Where to begin in a topic that was never read."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, TypeAlias

OffsetReset: TypeAlias = Literal["earliest", "latest", "none"] | timedelta
"""At its first record, at its end, nowhere (the application does not start), or with what is not older than a time."""

ALLOWED = '"earliest", "latest", "none", or a timedelta of how far to go back'


def is_offset_reset(value: object) -> bool:
    """Whether it says where to begin.

    >>> is_offset_reset(timedelta(days=1)), is_offset_reset("first")
    (True, False)
    """
    if isinstance(value, timedelta):
        return value >= timedelta(0)
    return value in ("earliest", "latest", "none")


def as_text(reset: OffsetReset | None) -> str | None:
    """For JSON; a time as in Kafka's own setting `auto.offset.reset`.

    >>> as_text(timedelta(hours=1))
    'by_duration:PT3600S'
    """
    if not isinstance(reset, timedelta):
        return reset
    seconds = reset / timedelta(seconds=1)
    return f"by_duration:PT{int(seconds) if seconds.is_integer() else seconds}S"
