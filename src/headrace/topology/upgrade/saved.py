"""A topology read back from a file: its data, without the program that made it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from headrace.errors import InvalidArgumentError
from headrace.topology.data import FORMAT, VERSION

Data: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Node:
    """A node and the sub-topology that it is in; -1 for those of global stores."""

    data: Data
    sub: int

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def kind(self) -> str:
        return str(self.data["type"])

    @property
    def operator(self) -> str:
        return str(self.data.get("operator", self.kind))


@dataclass(frozen=True, slots=True)
class Store:
    """A store, its sub-topology, and the first node that uses it."""

    data: Data
    sub: int
    owner: Node | None

    @property
    def name(self) -> str:
        return str(self.data["name"])


@dataclass(frozen=True, slots=True)
class SavedTopology:
    """What `Topology.save` has written. Compare it with another one, or with a topology of a program."""

    data: Data
    nodes: dict[str, Node] = field(init=False, repr=False, compare=False)
    stores: dict[str, Store] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        nodes = {node.name: node for node in self._nodes()}
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "stores", {store.name: store for store in self._stores(nodes)})

    def _nodes(self) -> Iterator[Node]:
        for sub in self.data["subtopologies"]:
            yield from (Node(node, sub["id"]) for node in sub["nodes"])
        for table in self.data["global_stores"]:
            yield from (Node(node, -1) for node in table["nodes"])

    def _stores(self, nodes: dict[str, Node]) -> Iterator[Store]:
        for sub in self.data["subtopologies"]:
            for store in sub["stores"]:
                users = [nodes[n["name"]] for n in sub["nodes"] if store["name"] in n.get("stores", ())]
                # Who keeps its results there, before those who only read them.
                keepers = [n for n in users if n.data["settings"].get("store") == store["name"]]
                yield Store(store, sub["id"], next(iter([*keepers, *users]), None))

    def origins(self, node: Node) -> frozenset[str]:
        """The topics of the user's from which records reach a node, also through internal topics."""
        found: set[str] = set()
        seen: set[str] = set()
        waiting = [node.name]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            data = self.nodes[name].data
            if data["type"] != "source":
                waiting += data["parents"]
            elif data["internal"]:
                waiting += [n.name for n in self.nodes.values() if n.data.get("topic") in data["topics"]]
            else:
                found.update(data["topics"], [data["pattern"]] if data["pattern"] else ())
        return frozenset(found)

    def __repr__(self) -> str:
        return f"<SavedTopology of {len(self.nodes)} node{'' if len(self.nodes) == 1 else 's'}>"


def load(path: str | Path) -> SavedTopology:
    """Read what `Topology.save` has written; the program that built it need not be there."""
    try:
        text = Path(path).read_text()
    except (OSError, ValueError) as error:
        raise _unreadable(f"`{path}`", error) from error
    return from_text(text, f"`{path}`")


def from_text(text: str, where: str) -> SavedTopology:
    """A saved topology from its text; `where` names it in messages."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise _unreadable(where, error) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidArgumentError(f"{where} is not a saved topology: write one with `topology.save(path)`")
    if not isinstance(data.get("version"), int) or data["version"] > VERSION:
        raise InvalidArgumentError(
            f"{where} has version {data.get('version')!r} of the format, and this Headrace reads up to {VERSION}: "
            "use the one that wrote it, or a newer one"
        )
    return SavedTopology(data)


def _unreadable(where: str, error: Exception) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{where} cannot be read as a saved topology: {error}; write one with `topology.save(path)`"
    )
