"""What is drawn, with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from headrace.topology.picture.graph import Point

Kind: TypeAlias = Literal["source", "processor", "sink", "store", "topic", "box"]
LineKind: TypeAlias = Literal["records", "store"]


@dataclass(frozen=True, slots=True)
class Shape:
    """Something that is drawn at a place."""

    kind: Kind
    name: str
    lines: tuple[str, ...]
    tip: str
    x: float
    y: float
    width: float
    height: float
    heading: str = ""
    internal: bool = False
    """A topic of the application's own, or a global store in a box that only reads it."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """The way of a line, from one name to another. `kind` tells records from the use of a store."""

    kind: LineKind
    start: str
    end: str
    points: tuple[Point, ...]


@dataclass(slots=True)
class Figure:
    """All that is drawn, and the room it needs."""

    shapes: list[Shape] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0

    def moved(self, x: float, y: float) -> Iterator[Shape | Arrow]:
        """Everything, somewhere else."""
        for s in self.shapes:
            yield Shape(
                s.kind, s.name, s.lines, s.tip, s.x + x, s.y + y, s.width, s.height, s.heading, s.internal
            )
        for a in self.arrows:
            points = tuple((px + x, py + y) for px, py in a.points)
            yield Arrow(a.kind, a.start, a.end, points)

    def add(self, items: Iterator[Shape | Arrow]) -> None:
        for item in items:
            if isinstance(item, Shape):
                self.shapes.append(item)
            else:
                self.arrows.append(item)
