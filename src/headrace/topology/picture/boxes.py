"""A sub-topology, or a global store, laid out by itself: its nodes and stores from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from headrace.topology.picture.graph import Layout, Line, Size
from headrace.topology.picture.labels import LINE, broken, kind_text, node_tip, store_tip, width_of
from headrace.topology.picture.layers import lay_out
from headrace.topology.picture.shapes import Arrow, LineKind, Shape

Data: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str]

PADDING = 18.0
TITLE = 42.0


class Box:
    """A sub-topology, laid out by itself."""

    def __init__(
        self, title: str, nodes: Sequence[Data], stores: Sequence[Data], tables: dict[str, Data]
    ) -> None:
        self.title = title
        self.nodes = {node["name"]: node for node in nodes}
        looked_up = {
            name: tables[name]
            for node in nodes
            if (name := node.get("settings", {}).get("store")) in tables and name not in node["stores"]
        }
        self.stores = {store["name"]: store for store in stores} | looked_up
        self.foreign = looked_up.keys()
        self.lines = [
            Line(("node", parent), ("node", node["name"])) for node in nodes for parent in node["parents"]
        ]
        for node in nodes:
            used = [*node.get("stores", ()), *({node.get("settings", {}).get("store")} & looked_up.keys())]
            self.lines += [
                Line(("node", node["name"]), ("store", store), weight=0.01) for store in dict.fromkeys(used)
            ]
        sinks = frozenset(("node", node["name"]) for node in nodes if node["type"] == "sink")
        sizes = {("node", name): _node_size(node) for name, node in self.nodes.items()}
        sizes |= {("store", name): _store_size(name) for name in self.stores}
        self.sizes = sizes
        self.layout: Layout[Key] = lay_out(sizes, self.lines, last=sinks)
        title_width = width_of([title]) + 2 * PADDING
        self.shift = PADDING + max(0.0, title_width - self.layout.width - 2 * PADDING) / 2
        self.size = Size(
            max(self.layout.width + 2 * PADDING, title_width), self.layout.height + PADDING + TITLE
        )

    def topics(self) -> Iterator[tuple[str, str, bool, bool]]:
        """(topic, node, whether it is read, whether it is internal)."""
        for name, node in self.nodes.items():
            if node["type"] == "source":
                pattern = [f"/{node['pattern']}/"] if node["pattern"] else []
                yield from ((topic, name, True, node["internal"]) for topic in [*node["topics"], *pattern])
            elif node["type"] == "sink":
                yield node["topic"] or "(chosen per record)", name, False, node["internal"]

    def port(self, node: str) -> float:
        """How far a node's middle is from the middle of the box."""
        key = ("node", node)
        return self.shift + self.layout.places[key][0] + self.sizes[key].width / 2 - self.size.width / 2

    def depth(self, node: str) -> tuple[float, float]:
        """A node's top and bottom, from the top of the box."""
        top = TITLE + self.layout.places["node", node][1]
        return top, top + self.sizes["node", node].height

    def draw(self, x: float, y: float) -> Iterator[Shape | Arrow]:
        yield Shape("box", self.title, (self.title,), self.title, x, y, self.size.width, self.size.height)
        left, top = x + self.shift, y + TITLE
        for (what, name), (place_x, place_y) in self.layout.places.items():
            size = self.sizes[what, name]
            at = (left + place_x, top + place_y, size.width, size.height)
            if what == "store":
                tip, foreign = store_tip(self.stores[name]), name in self.foreign
                yield Shape("store", name, tuple(broken(name)), tip, *at, internal=foreign)
            else:
                node = self.nodes[name]
                lines, heading = tuple(broken(name)), kind_text(node)
                yield Shape(node["type"], name, lines, node_tip(node), *at, heading=heading)
        for line, way in zip(self.lines, self.layout.ways, strict=True):
            points = tuple((left + px, top + py) for px, py in way)
            kind: LineKind = "store" if line.end[0] == "store" else "records"
            yield Arrow(kind, line.start[1], line.end[1], points)


def _node_size(node: Data) -> Size:
    lines = broken(node["name"])
    return Size(max(width_of([*lines, kind_text(node)]) + 22, 90), LINE * (len(lines) + 1) + 14)


def _store_size(name: str) -> Size:
    lines = broken(name)
    return Size(max(width_of(lines) + 26, 70), LINE * len(lines) + 28)
