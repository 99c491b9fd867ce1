"""The tables of all kills: by topology and victim, and by point."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.chaos.kills import Result
from tests.tables import table


def load(folder: Path) -> list[Result]:
    """The kills of all rounds that were kept."""
    return [result for file in sorted(folder.glob("*.json")) for result in Result.load(file)]


def report(folder: Path) -> str:
    """All tables."""
    files = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    results = load(folder)
    ok = sum(result.ok for result in results)
    seeds = ", ".join(map(str, sorted({found["seed"] for found in files})))
    records, rows = (sum(found[name] for found in files) for name in ("records", "rows"))
    chance = sum(result.chance for result in results)
    summary = (
        f"{len(results):,} kills, {chance:,} of them by chance (seed {seeds}); after {ok:,} of them everything was "
        f"as in the test driver: {records:,} records in output topics and {rows:,} rows in stores were compared at "
        "the ends of the rounds."
    )
    return "\n\n".join(
        [
            summary,
            _by(results, ["topology", "log", "victim"], lambda r: (r.topology, r.where, r.victim)),
            _by(results, ["point", "victim", "log"], lambda r: (r.point, r.victim, r.where)),
        ]
    )


def _by(results: Sequence[Result], head: list[str], key: Callable[[Result], tuple[str, ...]]) -> str:
    groups: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    rows = [
        [*group, len(found), sum(result.ok for result in found)] for group, found in sorted(groups.items())
    ]
    total = ["all", *[""] * (len(head) - 1), len(results), sum(result.ok for result in results)]
    return table([*head, "kills", "ok"], [*rows, total])
