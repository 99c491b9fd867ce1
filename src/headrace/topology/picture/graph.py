"""What is laid out: things with a size, and lines between them. Nothing of topologies is known here."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

N = TypeVar("N", bound=Hashable)

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Size:
    """How much room a thing needs."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line(Generic[N]):
    """From one thing down to another; `leaves` and `enters` say how far from their middles it is attached."""

    start: N
    end: N
    leaves: float = 0.0
    enters: float = 0.0
    weight: float = 1.0
    """How much it matters that it is straight."""


@dataclass(slots=True)
class Layout(Generic[N]):
    """Where things are (their top left corners), the way of each line, and the room that all of it needs."""

    places: dict[N, Point] = field(default_factory=dict)
    ways: list[list[Point]] = field(default_factory=list)
    """In the order of the lines: points from the bottom of one thing to the top of another."""
    width: float = 0.0
    height: float = 0.0
