"""Parts that have nothing to do with each other, set on shelves like books."""

from __future__ import annotations

from math import sqrt

from headrace.topology.picture.shapes import Figure

GAP = 40.0
MARGIN = 24.0
RATIO = 1.6
"""How much wider than high the whole is to be."""


def shelve(parts: list[Figure]) -> Figure:
    """One figure of many, in their order, not much wider than the widest of them needs."""
    area = sum((part.width + GAP) * (part.height + GAP) for part in parts)
    limit = max([sqrt(area * RATIO), *(part.width for part in parts)], default=0.0)
    found = Figure()
    x = y = shelf = 0.0
    for part in parts:
        if x and x + part.width > limit:
            x, y, shelf = 0.0, y + shelf + GAP, 0.0
        found.add(part.moved(MARGIN + x, MARGIN + y))
        found.width = max(found.width, x + part.width)
        x, shelf = x + part.width + GAP, max(shelf, part.height)
    found.width += 2 * MARGIN
    found.height = y + shelf + 2 * MARGIN
    return found
