"""Whether bytes that one serde wrote can be read by another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.serdes.described import serde_text
from headrace.topology.upgrade.types import TypeChange, type_changes

DEFAULT_KEY = {"format": "string"}


def format_changes(old: Any, new: Any, part: str) -> Iterator[TypeChange]:
    """The differences, for a `key` or a `value`."""
    if part == "key":
        # The configuration's default for keys is text; who sets another one says so everywhere.
        old, new = old or DEFAULT_KEY, new or DEFAULT_KEY
    if old == new:
        return
    if old is None or new is None:
        known = serde_text(new if old is None else old)
        yield TypeChange(
            part,
            False,
            f"was written as {serde_text(old)} and is read as {serde_text(new)}: the same only if the "
            f"configuration's default is {known}",
            f"say `{part}=` in both versions",
        )
    elif old["format"] != new["format"]:
        yield TypeChange(
            part, False, f"was written as {serde_text(old)} and is read as {serde_text(new)}: other bytes"
        )
    elif old["format"] == "json":
        for change in type_changes(old["type"], new["type"]):
            yield TypeChange(
                f"{part} field `{change.path}`" if change.path else part,
                change.safe,
                change.message,
                change.fix,
            )
    elif old["format"] == "custom":
        yield TypeChange(
            part,
            False,
            f"was written by `{old['class']}` and is read by `{new['class']}`: nothing here knows whether these are "
            "the same bytes",
        )
    else:
        for name in sorted(old.keys() | new.keys()):
            one, other = old.get(name), new.get(name)
            if name == "size_ms":
                continue  # not in the bytes; a changed window is told about where it is made
            if isinstance(one, dict | None) and isinstance(other, dict | None):
                yield from format_changes(one, other, part)
            elif one != other:
                yield TypeChange(part, False, f"`{name}` was {one!r} and is {other!r}")
