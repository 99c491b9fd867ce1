"""A serde as data: which bytes it writes, so that another version of a program can be compared with it."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from headrace.serdes.base import Serde
from headrace.serdes.json import JsonSerde
from headrace.serdes.primitives import PrimitiveSerde
from headrace.serdes.types import describe_type

SerdeData: TypeAlias = dict[str, Any] | None

_OWN = __name__.rpartition(".")[0] + "."
_PARTS = ("inner", "left", "right", "identity", "item")
_SETTINGS = ("size_ms",)


def describe_serde(serde: Serde[Any] | None) -> SerdeData:
    """The format, and what belongs to it; None stays the configuration's default.

    >>> from headrace import Serdes
    >>> from headrace.serdes import TimeWindowedSerde
    >>> describe_serde(TimeWindowedSerde(Serdes.string(), 60_000))
    {'format': 'time_windowed', 'inner': {'format': 'string'}, 'size_ms': 60000}
    """
    if serde is None:
        return None
    if isinstance(serde, PrimitiveSerde):
        return {"format": serde.name}
    if isinstance(serde, JsonSerde):
        return {"format": "json", "type": describe_type(serde.type)}
    kind = type(serde)
    if not kind.__module__.startswith(_OWN) or kind.__name__.startswith("_"):
        return {"format": "custom", "class": f"{kind.__module__}.{kind.__qualname__}"}
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__.removesuffix("Serde")).lower()
    found: dict[str, Any] = {"format": name}
    found |= {part: describe_serde(getattr(serde, part)) for part in _PARTS if hasattr(serde, part)}
    return found | {setting: getattr(serde, setting) for setting in _SETTINGS if hasattr(serde, setting)}


def serde_text(data: SerdeData) -> str:
    """In a few words: `string`, `json Order`, `time_windowed(string)`."""
    if data is None:
        return "default"
    parts = [serde_text(data[part]) for part in _PARTS if part in data]
    if data["format"] == "json":
        return f"json {type_text(data['type'])}"
    if data["format"] == "custom":
        return str(data["class"]).rpartition(".")[2]
    return str(data["format"]) + (f"({', '.join(parts)})" if parts else "")


def type_text(data: Any) -> str:
    """A type in a few words: `Order`, `list[integer]`, `string | null`."""
    if isinstance(data, str):
        return data
    match data:
        case {"record": name} | {"enum": name} | {"ref": name} | {"class": name}:
            return str(name)
        case {"list": item}:
            return f"list[{type_text(item)}]"
        case {"set": item}:
            return f"set[{type_text(item)}]"
        case {"tuple": items}:
            return f"tuple[{', '.join(map(type_text, items))}]"
        case {"dict": [key, value]}:
            return f"dict[{type_text(key)}, {type_text(value)}]"
        case {"union": items}:
            return " | ".join(map(type_text, items))
        case {"literal": values}:
            return " | ".join(map(repr, values))
    return str(data)
