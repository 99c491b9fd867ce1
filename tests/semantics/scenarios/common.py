"""What the pseudo-code of the cases takes for granted."""

from __future__ import annotations

from datetime import timedelta


def text(value: object) -> str:
    """`S(x)` of the cases."""
    return "null" if value is None else str(value)


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)
