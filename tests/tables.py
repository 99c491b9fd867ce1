"""Tables in Markdown, and the part of a page that a command writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table; numbers stand to the right.

    >>> print(table(["point", "kills"], [["plan.before", 7]]))
    | point | kills |
    |---|--:|
    | plan.before | 7 |
    """
    numeric = [bool(rows) and all(isinstance(row[i], int) for row in rows) for i in range(len(head))]
    lines = [
        list(head),
        *([f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows),
    ]
    texts = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join(
        [texts[0], "|" + "|".join("--:" if right else "---" for right in numeric) + "|", *texts[1:]]
    )


def replace_generated(page: Path, name: str, text: str) -> None:
    """Put a text between the marks `<!-- name: begin -->` and `<!-- name: end -->` of a page."""
    first, last = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found, rest = page.read_text().partition(first)
    _, ended, after = rest.partition(last)
    if not found or not ended:
        raise ValueError(f"`{page}` has no part between `{first}` and `{last}`")
    page.write_text(f"{before}{first}\n{text}\n{last}{after}")
