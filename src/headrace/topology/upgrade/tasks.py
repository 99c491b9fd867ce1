"""Differences in what tasks are called by: the numbers of sub-topologies, and the names of nodes that remember."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from headrace.topology.upgrade.changes import Change, Level
from headrace.topology.upgrade.matching import Matched, is_generated
from headrace.topology.upgrade.saved import Node, SavedTopology

_REMEMBER = (
    "Windowed",
    "Sliding",
    "Session",
    "StreamStreamJoin",
    "SelfJoin",
    "Process",
    "Suppress",
    "Deduplicate",
)
"""Operators that keep a time beside their stores."""


def task_changes(old: SavedTopology, new: SavedTopology, matched: Matched) -> Iterator[Change]:
    """Tasks that have other numbers, and nodes with other names."""
    yield from _renumbered(old, new, matched)
    yield from _forgetful(matched)


def _renumbered(old: SavedTopology, new: SavedTopology, matched: Matched) -> Iterator[Change]:
    moves: dict[int, Counter[int]] = {}
    for one, other in matched.pairs:
        moves.setdefault(one.sub, Counter())[other.sub] += 1
    for before, targets in sorted(moves.items()):
        for now in sorted(targets):
            if now == before:
                continue
            stores = [
                f"`{other.name}`" for one, other in matched.pairs if (one.sub, other.sub) == (before, now)
            ]
            split = len(targets) > 1
            yield Change(
                Level.SAFE,
                f"sub-topology {before}",
                f"{'a part of it ' if split else ''}is sub-topology {now} now, and its tasks are {now}_0, {now}_1 …: "
                f"{', '.join(stores)} {'is' if len(stores) == 1 else 'are'} filled anew from the changelog, and the "
                "times that operators remember go with them",
                _reason(old, new, before, now),
            )


def _reason(old: SavedTopology, new: SavedTopology, before: int, now: int) -> str:
    if old.data["optimization"] != new.data["optimization"]:
        return "build with the same `optimization` as before"
    if len(new.data["subtopologies"]) > len(old.data["subtopologies"]):
        return "write what is new behind what was there, so that the numbers stay"
    return "keep the order in which sources come in the program"


def _forgetful(matched: Matched) -> Iterator[Change]:
    for one, other in matched.pairs:
        before, now = one.owner, other.owner
        if before is None or now is None or before.name == now.name or one.name != other.name:
            continue
        if any(word in now.operator for word in _REMEMBER):
            yield Change(
                Level.SAFE,
                f"node `{now.name}`",
                f"was called `{before.name}`: the time that it remembers under its name begins with the next record",
                _name_node(now),
                now.data.get("origin"),
            )


def _name_node(node: Node) -> str | None:
    return 'name it: `name="..."`' if is_generated(node.name) else None
