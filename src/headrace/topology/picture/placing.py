"""From the order of things in their layers to coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.topology.picture.graph import N

if TYPE_CHECKING:
    from headrace.topology.picture.layers import Cell, Link

ROUNDS = 32


def place(rows: list[list[Cell[N]]], gap: float, between: float, *, tops: bool) -> tuple[float, float]:
    """Set `x` and `y` of every cell; the width and height of all."""
    for row in rows:
        x = 0.0
        for cell in row:
            cell.x = x + cell.size.width / 2
            x += cell.size.width + _gap(cell, gap)
    for number in range(ROUNDS):
        down = number % 2 == 0
        for row in rows if down else reversed(rows):
            _straighten(row, gap, down=down, both=number >= ROUNDS // 2)
    left = min((cell.x - cell.size.width / 2 for row in rows for cell in row), default=0.0)
    y = 0.0
    for row in rows:
        height = max(cell.size.height for cell in row)
        for cell in row:
            cell.x -= left
            cell.y = y if tops else y + (height - cell.size.height) / 2
        y += height + between
    width = max((cell.x + cell.size.width / 2 for row in rows for cell in row), default=0.0)
    return width, max(0.0, y - between)


def _gap(cell: Cell[N], gap: float) -> float:
    return gap if cell.thing is not None else gap / 2


def _straighten(row: list[Cell[N]], gap: float, *, down: bool, both: bool) -> None:
    """Bring each cell as near as possible to where its neighbours want it, without changing the order.

    That is a least-squares problem with an order to keep: cells that would overlap move as one block, to the mean of
    what they want (pool adjacent violators).
    """
    blocks: list[tuple[float, float, list[Cell[N]], list[float]]] = []
    for cell in row:
        wanted, weight = _wanted(cell, down=down, both=both)
        members, offsets = [cell], [0.0]
        total = wanted * weight
        while blocks:
            before_total, before_weight, before, before_offsets = blocks[-1]
            distance = (
                before[-1].size.width / 2
                + max(_gap(before[-1], gap), _gap(members[0], gap))
                + members[0].size.width / 2
            )
            shift = before_offsets[-1] + distance
            if before_total / before_weight + shift <= total / weight:
                break
            blocks.pop()
            # Seen from the first cell of the earlier block.
            total = before_total + total - shift * weight
            weight += before_weight
            members = [*before, *members]
            offsets = [*before_offsets, *(offset + shift for offset in offsets)]
        blocks.append((total, weight, members, offsets))
    for total, weight, members, offsets in blocks:
        for cell, offset in zip(members, offsets, strict=True):
            cell.x = total / weight + offset


def _wanted(cell: Cell[N], *, down: bool, both: bool) -> tuple[float, float]:
    """Where a cell should be, and how much that matters."""
    above = [(link.upper.x + link.leaves - link.enters, _weight(link)) for link in cell.above]
    below = [(link.lower.x + link.enters - link.leaves, _weight(link)) for link in cell.below]
    near = above + below if both else (above or below) if down else (below or above)
    if not near:
        return cell.x, 0.01
    weight = sum(each for _, each in near)
    return sum(x * each for x, each in near) / weight, weight


def _weight(link: Link[N]) -> float:
    """A line is to be straight above all where it passes, and next where it is the only one."""
    if link.upper.thing is None or link.lower.thing is None:
        return link.weight * 8
    alone = _alone(link.upper.below) and _alone(link.lower.above)
    return link.weight * (4 if alone else 1)


def _alone(links: list[Link[N]]) -> bool:
    return sum(link.weight >= 1 for link in links) == 1
