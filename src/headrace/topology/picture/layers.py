"""Layered layout, after Sugiyama: layers from top to bottom, few crossings, straight lines where possible.

Lines that pass a layer keep a lane free there, so that no line crosses a thing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic

from headrace.topology.picture.graph import Layout, Line, N, Size
from headrace.topology.picture.placing import place

SWEEPS = 12


@dataclass(slots=True, eq=False)
class Cell(Generic[N]):
    """A thing, or the lane of a line, in a layer."""

    thing: N | None
    size: Size
    layer: int
    above: list[Link[N]] = field(default_factory=list)
    below: list[Link[N]] = field(default_factory=list)
    x: float = 0.0
    """Of its middle."""
    y: float = 0.0
    """Of its top."""


@dataclass(slots=True, eq=False)
class Link(Generic[N]):
    """A line, or a part of one, between cells of neighbouring layers."""

    upper: Cell[N]
    lower: Cell[N]
    leaves: float
    enters: float
    weight: float


def lay_out(
    sizes: Mapping[N, Size],
    lines: Sequence[Line[N]],
    *,
    last: frozenset[N] = frozenset(),
    gap: float = 28,
    between: float = 44,
    tops: bool = False,
    layers: Mapping[N, int] | None = None,
) -> Layout[N]:
    """Place everything; there must be no cycle.

    Things in `last` come in the lowest layer; with `tops` those of a layer begin at one height. `layers` says which
    layer each thing is in, where that is not to be found out; no layer may be empty, and all lines go down.
    """
    if layers is None:
        layers = _layers(sizes, lines, last)
    cells = {thing: Cell(thing, size, layers[thing]) for thing, size in sizes.items()}
    rows: list[list[Cell[N]]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for cell in cells.values():
        rows[cell.layer].append(cell)
    chains = [_chain(cells[line.start], cells[line.end], line, rows) for line in lines]
    _order(rows)
    width, height = place(rows, gap, between, tops=tops)
    found: Layout[N] = Layout(width=width, height=height)
    found.places = {thing: (cell.x - cell.size.width / 2, cell.y) for thing, cell in cells.items()}
    bands = [(min(c.y for c in row), max(c.y + c.size.height for c in row)) for row in rows]
    found.ways = [_way(chain, bands) for chain in chains]
    return found


def turned(sizes: Mapping[N, Size], lines: Sequence[Line[N]]) -> list[bool]:
    """Which lines close a cycle: those that lead back to where one comes from."""
    out: dict[N, list[int]] = {thing: [] for thing in sizes}
    for number, line in enumerate(lines):
        out[line.start].append(number)
    found = [line.start == line.end for line in lines]
    done: set[N] = set()
    entered = {line.end for line in lines}
    for root in sorted(sizes, key=lambda thing: thing in entered):
        path: set[N] = set()
        waiting = [(root, False)]
        while waiting:
            thing, leaving = waiting.pop()
            if leaving:
                path.discard(thing)
                done.add(thing)
                continue
            if thing in done or thing in path:
                continue
            path.add(thing)
            waiting.append((thing, True))
            for number in reversed(out[thing]):
                if lines[number].end in path:
                    found[number] = True
                elif lines[number].end not in done:
                    waiting.append((lines[number].end, False))
    return found


def _layers(sizes: Mapping[N, Size], lines: Sequence[Line[N]], last: frozenset[N]) -> dict[N, int]:
    """As low as what is above allows; then things that nothing is above move down to what they lead to."""
    above: dict[N, list[N]] = {thing: [] for thing in sizes}
    below: dict[N, list[N]] = {thing: [] for thing in sizes}
    for line in lines:
        above[line.end].append(line.start)
        below[line.start].append(line.end)
    layers: dict[N, int] = {}
    waiting = {thing: len(above[thing]) for thing in sizes}
    ready = [thing for thing, count in waiting.items() if not count]
    while ready:
        thing = ready.pop(0)
        layers[thing] = max((layers[upper] + 1 for upper in above[thing]), default=0)
        for lower in below[thing]:
            waiting[lower] -= 1
            if not waiting[lower]:
                ready.append(lower)
    if last:
        lowest = max(layers.values(), default=0)
        if any(layers[thing] == lowest for thing in layers.keys() - last):
            lowest += any(above[thing] for thing in last)
        layers.update(dict.fromkeys(last, lowest))
    else:
        for thing in sizes:
            if not above[thing] and below[thing]:
                layers[thing] = min(layers[lower] for lower in below[thing]) - 1
    return layers


def _chain(upper: Cell[N], lower: Cell[N], line: Line[N], rows: list[list[Cell[N]]]) -> list[Link[N]]:
    """The parts of a line, with a lane in each layer between its ends."""
    cells = [upper]
    for layer in range(upper.layer + 1, lower.layer):
        lane: Cell[N] = Cell(None, Size(2, 0), layer)
        rows[layer].append(lane)
        cells.append(lane)
    cells.append(lower)
    links = []
    for number, (one, other) in enumerate(pairwise(cells)):
        link = Link(
            one, other, 0.0 if number else line.leaves, line.enters if other is lower else 0.0, line.weight
        )
        one.below.append(link)
        other.above.append(link)
        links.append(link)
    return links


def _order(rows: list[list[Cell[N]]]) -> None:
    """Move each thing to the middle of its neighbours, up and down, and keep the order with the fewest crossings."""
    for row in rows:
        for number, cell in enumerate(row):
            cell.x = float(number)
    best, fewest = [list(row) for row in rows], _crossings(rows)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            middles = {id(cell): _middle(cell, down=down) for cell in row}
            row.sort(key=lambda cell: middles[id(cell)])
            for number, cell in enumerate(row):
                cell.x = float(number)
        if (crossings := _crossings(rows)) < fewest:
            best, fewest = [list(row) for row in rows], crossings
    for row, order in zip(rows, best, strict=True):
        row[:] = order


def _middle(cell: Cell[N], *, down: bool) -> float:
    near = (
        [link.upper.x + link.leaves * 1e-4 for link in cell.above]
        if down
        else [link.lower.x + link.enters * 1e-4 for link in cell.below]
    )
    return sum(near) / len(near) if near else cell.x


def _crossings(rows: list[list[Cell[N]]]) -> int:
    for row in rows:
        for number, cell in enumerate(row):
            cell.x = float(number)
    found = 0
    for row in rows:
        ends = [
            (link.upper.x + link.leaves * 1e-4, link.lower.x + link.enters * 1e-4)
            for c in row
            for link in c.below
        ]
        ends.sort()
        for number, (_, x) in enumerate(ends):
            found += sum(1 for _, other in ends[:number] if other > x)
    return found


def _way(chain: list[Link[N]], bands: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Down to the end of the own layer, over to the next, and through the lanes."""
    points: list[tuple[float, float]] = []
    for link in chain:
        x, y = link.upper.x + link.leaves, link.upper.y + link.upper.size.height
        points += [(x, y), (x, bands[link.upper.layer][1])]
        x, y = link.lower.x + link.enters, link.lower.y
        points += [(x, bands[link.lower.layer][0]), (x, y)]
    return points
