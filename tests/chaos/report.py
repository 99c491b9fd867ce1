"""The tables of all kills: by topology and victim, and by point."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.chaos.kills import Result
from tests.chaos.schedule import all_rounds
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
    left = not_run({file.stem for file in folder.glob("*.json")})
    return "\n\n".join(
        [
            summary + (f" Not run: {', '.join(left)}." if left else " All rounds were run."),
            _by(results, ["topology", "log", "victim"], lambda r: (r.topology, r.where, r.victim)),
            _by(results, ["point", "victim", "log"], lambda r: (r.point, r.victim, r.where)),
        ]
    )


def not_run(kept: set[str]) -> list[str]:
    """The rounds, and the shares of rounds, of which nothing was kept."""
    found = []
    for name in (each.name for each in all_rounds(1)):
        shares = sorted(
            stem.removeprefix(f"{name}-") for stem in kept if re.fullmatch(rf"{name}-\d+-of-\d+", stem)
        )
        if not shares:
            found.append(name)
            continue
        count = int(shares[0].rpartition("-")[2])
        found += [f"{name} {n}/{count}" for n in range(1, count + 1) if f"{n}-of-{count}" not in shares]
    return found


def _by(results: Sequence[Result], head: list[str], key: Callable[[Result], tuple[str, ...]]) -> str:
    groups: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    rows = [
        [*group, len(found), sum(result.ok for result in found)] for group, found in sorted(groups.items())
    ]
    total = ["all", *[""] * (len(head) - 1), len(results), sum(result.ok for result in results)]
    return table([*head, "kills", "ok"], [*rows, total])
