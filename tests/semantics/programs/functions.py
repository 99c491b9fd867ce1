"""The callbacks that a program names: those of `conformance/src/ProgramFunctions.java`."""

from __future__ import annotations

from typing import Any

from headrace import Windowed


def text(value: Any) -> str:
    if isinstance(value, Windowed):
        return f"{value.key}@{value.start}-{value.end}"
    return "null" if value is None else str(value)


def tail(value: str) -> str:
    """Values must not grow for ever."""
    return value[-12:]


def last(value: Any) -> str:
    return text(value)[-1:] or "-"


PREDICATES = {
    "even_length": lambda key, value: len(text(value)) % 2 == 0,
    "last_below_5": lambda key, value: last(value) < "5",
    "key_not_b": lambda key, value: not text(key).startswith("B"),
    "present": lambda key, value: value is not None,
}

VALUES = {
    "mark": lambda key, value: tail(text(value) + "!"),
    "some": lambda key, value: None if last(value) in "37" else text(value),
    "keyed": lambda key, value: tail(f"{text(key)}:{text(value)}"),
    "length": lambda key, value: len(text(value)),
}

KEYS = {
    "letter": lambda key, value: None if last(value) == "7" else "ABC"[len(text(value)) % 3],
    "first": lambda key, value: text(value)[:1].upper() or "E",
    "key": lambda key, value: text(key),
}


def values(value: Any) -> list[str]:
    return [] if last(value) == "2" else [text(value), tail(text(value) + "~")]


def pairs(key: Any, value: Any) -> list[tuple[Any, str]]:
    made = [(KEYS["letter"](key, value), text(value))] if last(value) != "4" else []
    return [*made, (text(key), tail(text(value) + "^"))] if last(value) != "5" else made


def reduced(left: Any, right: Any) -> Any:
    if isinstance(left, int) or isinstance(right, int):
        return (left or 0) + (right or 0)
    return tail(text(left) + text(right))


def reduced_or_none(left: Any, right: Any) -> Any:
    return None if last(right) == "3" else reduced(left, right)


def subtracted(left: Any, right: Any) -> Any:
    if isinstance(left, int) or isinstance(right, int):
        return (left or 0) - (right or 0)
    return tail(f"{text(left)}-{text(right)}")


def aggregated(key: Any, value: Any, so_far: Any) -> str:
    return tail(text(so_far) + text(value))


def aggregated_or_none(key: Any, value: Any, so_far: Any) -> str | None:
    return None if last(value) == "3" else aggregated(key, value, so_far)


def removed(key: Any, value: Any, so_far: Any) -> str:
    return tail(f"{text(so_far)}-{text(value)}")


def merged(key: Any, left: Any, right: Any) -> str:
    return tail(f"{text(left)}|{text(right)}")


JOINERS = {
    "plus": lambda key, left, right: tail(f"{text(left)}+{text(right)}"),
    "some": lambda key, left, right: None if last(right) == "1" else tail(f"{text(left)}+{text(right)}"),
    "keyed": lambda key, left, right: tail(f"{text(key)}:{text(left)}+{text(right)}"),
}
