"""Which store of the new version is which of the old one.

A name that the user gave says it. A generated one does not: something that is added before it moves the number in it
on, perhaps to what was another store's. So stores are also told by what fills them: the operator, and its topics.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from headrace.topology.upgrade.saved import Node, SavedTopology, Store

_GENERATED = re.compile(r".*-[0-9]{10}(-store)?")

_Likeness: TypeAlias = Callable[[SavedTopology, Store], Any]


def is_generated(name: str) -> bool:
    """Whether a name comes from the counter.

    >>> is_generated("KSTREAM-AGGREGATE-STATE-STORE-0000000002"), is_generated("counts")
    (True, False)
    """
    return _GENERATED.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Matched:
    """The stores of both versions that are the same, those that are gone and those that are new."""

    pairs: tuple[tuple[Store, Store], ...]
    removed: tuple[Store, ...]
    added: tuple[Store, ...]


def match_stores(old: SavedTopology, new: SavedTopology) -> Matched:
    """By the user's name first, then by what fills them, from the most alike to the least."""
    before, now, pairs = dict(old.stores), dict(new.stores), list[tuple[Store, Store]]()

    def pair(one: Store, other: Store) -> None:
        pairs.append((before.pop(one.name), now.pop(other.name)))

    for name in [name for name in before if name in now and not is_generated(name)]:
        pair(before[name], now[name])
    for likeness in _LIKENESSES:
        for one in list(before.values()):
            wanted = likeness(old, one)
            alike = [other for other in now.values() if likeness(new, other) == wanted]
            if alike:
                pair(one, next((other for other in alike if other.name == one.name), alike[0]))
    return Matched(tuple(pairs), tuple(before.values()), tuple(now.values()))


def _whole(topology: SavedTopology, store: Store) -> Any:
    return (*_filled(topology, store), _chain(topology, store.owner))


def _filled(topology: SavedTopology, store: Store) -> Any:
    return (*_fed(topology, store), store.data["kind"])


def _fed(topology: SavedTopology, store: Store) -> Any:
    if store.owner is None:
        return (None, store.name)
    return (store.owner.operator, topology.origins(store.owner), _role(store.name))


_LIKENESSES: tuple[_Likeness, ...] = (_whole, _filled, _fed)


def _role(name: str) -> str:
    """Joins have several stores: which of them it is."""
    return re.sub(r"[0-9]{10}", "", name) if is_generated(name) and name.endswith("-store") else ""


def _chain(topology: SavedTopology, node: Node | None) -> tuple[str, ...]:
    found: list[str] = []
    while node is not None:
        found.append(node.operator)
        parents = node.data["parents"]
        if not parents and node.data.get("internal"):
            parents = [n.name for n in topology.nodes.values() if n.data.get("topic") in node.data["topics"]]
        node = topology.nodes[parents[0]] if parents else None
    return tuple(found)
