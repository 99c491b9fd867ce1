"""Differences in the rules that operators go by: their state stays, and what comes out of them changes.

Functions cannot be seen. What can be: windows, times to wait, limits of buffers, and kinds of filters and joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.topology.upgrade.changes import Change, Level
from headrace.topology.upgrade.saved import Node, SavedTopology

_RULES = (
    *("negate", "left", "keeps_this", "keeps_other"),
    *("wait_ms", "until_close", "max_records", "max_bytes", "emits_early", "idle_ms"),
    *("grace_ms", "within_ms", "timeout_ms"),
    *("windows.before_ms", "windows.after_ms", "windows.grace_ms", "windows.idle_ms"),
    *("emit.final", "emit.idle_ms"),
)
"""Settings that change results and no rows. Sizes of an aggregate's windows are in the keys of its rows: see there."""
_SECOND_SIDE = ({"is_left": False}, {"reverse": True})
"""A join has a node for either side, with the same rules."""


def rule_changes(old: SavedTopology, new: SavedTopology) -> Iterator[Change]:
    """One for each rule of an operator that both versions have."""
    for before, now in _pairs(old, new):
        was, is_ = before.data["settings"], now.data["settings"]
        if any(is_.items() >= side.items() for side in _SECOND_SIDE):
            continue
        for rule in _RULES:
            one, other = _get(was, rule), _get(is_, rule)
            if one == other:
                continue
            waits = ", also for what waits in it," if _waits(now) else ""
            yield Change(
                Level.SAFE,
                f"node `{now.name}`",
                f"`{rule}` was {one}, and is {other}: its state is kept; the new rule holds{waits} from then on, and "
                "what came out before is not corrected",
                origin=now.data.get("origin"),
            )


def _pairs(old: SavedTopology, new: SavedTopology) -> Iterator[tuple[Node, Node]]:
    """Operators by name; those with generated names that moved by what they are and the topics they come from."""
    before = {node.name: node for node in old.nodes.values() if node.kind == "processor"}
    now = {node.name: node for node in new.nodes.values() if node.kind == "processor"}
    for name in [name for name in before if name in now and _alike(old, before[name], new, now[name])]:
        yield before.pop(name), now.pop(name)
    for one in before.values():
        other = next((node for node in now.values() if _alike(old, one, new, node)), None)
        if other is not None:
            yield one, now.pop(other.name)


def _alike(old: SavedTopology, one: Node, new: SavedTopology, other: Node) -> bool:
    return one.operator == other.operator and old.origins(one) == new.origins(other)


def _get(settings: dict[str, Any], rule: str) -> Any:
    found: Any = settings
    for part in rule.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _waits(node: Node) -> bool:
    return node.operator in ("Suppress", "StreamStreamJoin", "StreamSelfJoin") or bool(
        node.data["settings"].get("buffer")
    )
