"""What the pseudo-code of the cases takes for granted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any


def text(value: object) -> str:
    """`S(x)` of the cases."""
    return "null" if value is None else str(value)


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def letter(key: Any, value: Any) -> Any:
    """`letter(v)` of the cases."""
    if value is None:
        return "A"
    number = int(value[1:])
    return None if number % 7 == 0 else "ABC"[number % 3]
