"""What to say about a key or value that could not be written or read. Only ever called once something has failed."""

from __future__ import annotations

from typing import Any

from headrace.record import Windowed
from headrace.serdes.base import Serde
from headrace.serdes.json import JsonSerde
from headrace.serdes.primitives import PrimitiveSerde

_SHOWN = 60


def explain_write(serde: Serde[Any], value: Any, error: BaseException) -> str:
    """One line: what was got, what the serde takes, and the fix.

    >>> from headrace.serdes import Serdes
    >>> explain_write(Serdes.string(), 5, TypeError("..."))
    'Serdes.string() writes `str`, got 5 of type `int`: convert it, or say the right type with `key=` or `value=`'
    """
    got = f"got {_short(value)} of type `{type(value).__name__}`"
    fix = "convert it, or say the right type with `key=` or `value=`"
    if isinstance(value, Windowed):
        fix = "leave `key=` out for a key with its window, or take the key alone, `select_key(lambda w, v: w.key)`"
    if isinstance(serde, PrimitiveSerde) and serde.writes != type(value).__name__:
        return f"{serde!r} writes `{serde.writes}`, {got}: {fix}"
    return f"{serde!r} could not write it, {got}: {_reason(error)}"


def explain_read(serde: Serde[Any], data: bytes, error: BaseException) -> str:
    """One line: what the bytes look like, what the serde wanted, and a guess at why.

    >>> from headrace.serdes import Serdes
    >>> explain_read(Serdes.long(), b"17", ValueError("expected 8 bytes, got 2"))
    "Serdes.long() could not read b'17': expected 8 bytes, got 2; it looks like text: was it written as `str`?"
    """
    return f"{serde!r} could not read {_short(data)}: {_reason(error)}{_guess(serde, data)}"


def _guess(serde: Serde[Any], data: bytes) -> str:
    if len(data) > 5 and data[0] == 0 and isinstance(serde, JsonSerde):
        return (
            "; a zero byte in front is the mark of a schema registry: was it written by Avro or JSON Schema?"
        )
    if isinstance(serde, PrimitiveSerde) and serde.writes in ("int", "float", "bool"):
        widths = {1: "a boolean", 2: "a short", 4: "an integer or a float", 8: "a long or a double"}
        if data.isascii() and data.decode("ascii").isprintable() and data:
            return "; it looks like text: was it written as `str`?"
        if len(data) in widths:
            return f"; {len(data)} bytes are the size of {widths[len(data)]}: see `Serdes`"
    return ""


def _reason(error: BaseException) -> str:
    text = str(error).strip()
    return " ".join(text.split()) if text else type(error).__name__


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
