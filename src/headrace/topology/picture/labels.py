"""What is written on things: lines of text with a width that is known without a font."""

from __future__ import annotations

import re
from typing import Any

from headrace.serdes.described import serde_text

CHARACTER = 7.0
"""Of the fixed-width font at 11.5 pixels; texts are told their length, so that another font takes no more room."""
LINE = 15.0
LONGEST = 30
"""Characters in a line, where a name can be broken."""

_KINDS = {
    "TableSource": "table",
    "TableToStream": "to stream",
    "StreamAggregate": "aggregate",
    "StreamReduce": "reduce",
    "WindowedAggregate": "windowed aggregate",
    "SlidingAggregate": "sliding aggregate",
    "SessionAggregate": "session aggregate",
    "StreamTableJoin": "stream-table join",
    "StreamGlobalTableJoin": "global-table join",
    "StreamStreamJoin": "stream-stream join",
    "StreamSelfJoin": "self join",
    "TableTableJoin": "table-table join",
    "Process": "processor",
    "DropNullKeys": "drop null keys",
}


def kind_text(node: dict[str, Any]) -> str:
    """What a node does, in a word or two."""
    if node["type"] != "processor":
        return str(node["type"])
    operator = str(node["operator"])
    if operator == "PassThrough" and len(node["parents"]) > 1:
        return "merge"
    return _KINDS.get(operator) or re.sub(r"(?<!^)(?=[A-Z])", " ", operator).lower()


def broken(name: str) -> list[str]:
    """A name in lines that are not too long, broken behind `-`, `_` and `.` where possible.

    >>> broken("KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition-filter")
    ['KSTREAM-AGGREGATE-STATE-STORE-', '0000000002-repartition-filter']
    """
    lines = [""]
    for part in re.findall(r"[^-_.]*[-_.]+|[^-_.]+", name):
        for piece in [part[i : i + LONGEST] for i in range(0, len(part), LONGEST)]:
            if lines[-1] and len(lines[-1]) + len(piece) > LONGEST:
                lines.append("")
            lines[-1] += piece
    return lines


def width_of(lines: list[str]) -> float:
    """How wide the longest line is."""
    return max(map(len, lines), default=0) * CHARACTER


def node_tip(node: dict[str, Any]) -> str:
    """All that is known of a node, for a tooltip."""
    lines = [node["name"], kind_text(node)]
    if node["type"] != "processor":
        lines.append(f"key: {serde_text(node['key'])}, value: {serde_text(node['value'])}")
    lines += [
        f"{name}: {_told(value)}" for name, value in node.get("settings", {}).items() if value is not None
    ]
    if node.get("stores"):
        lines.append(f"stores: {', '.join(node['stores'])}")
    if node.get("origin"):
        lines.append(f"at {node['origin']}")
    return "\n".join(lines)


def store_tip(store: dict[str, Any]) -> str:
    """All that is known of a store."""
    lines = [store["name"], f"{store['kind']} store"]
    lines.append(f"key: {serde_text(store['key'])}, value: {serde_text(store['value'])}")
    if store["retention_ms"]:
        lines.append(f"retention: {store['retention_ms']} ms")
    if store["changelog_topic"]:
        lines.append(f"changelog: the topic {store['changelog_topic']}")
    elif not store["logging"]:
        lines.append("no changelog")
    if store.get("origin"):
        lines.append(f"at {store['origin']}")
    return "\n".join(lines)


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return str(value)
