"""The kills of `make chaos`: every point is among them, and a seed decides the rest."""

from __future__ import annotations

import re
from pathlib import Path

from headrace.failpoints import IN_DRIVER, IN_KAFKA, IN_PLANNER, IN_RECOVERY, IN_UPKEEP, IN_WORKER
from tests.chaos.kinds import KINDS
from tests.chaos.schedule import ANY_TIME, LOGS, all_rounds, share_of

ROOT = Path(__file__).parents[2]
POINTS = {*IN_PLANNER, *IN_WORKER, *IN_RECOVERY, *IN_DRIVER, *IN_KAFKA, *IN_UPKEEP}


def test_every_point_in_the_code_that_a_batch_passes_is_known_and_told_in_the_docs() -> None:
    text = "".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
    passed = set(re.findall(r'failpoint\("([\w.]+)"\)', text))
    # Commands that change a stopped application have points of their own, and tests beside them.
    assert {point for point in passed if not point.startswith(("reset.", "rescale."))} == POINTS
    page = (ROOT / "docs/operations/exactly-once.md").read_text()
    assert {point for point in POINTS if f"`{point}`" not in page} == set()


def test_every_point_is_killed_at_on_both_logs_and_at_least_a_hundred_kills_are_by_chance() -> None:
    rounds = all_rounds(1)
    for log in LOGS:
        killed = {kill.point for each in rounds if each.log == log for kill in each.kills if not kill.chance}
        assert (POINTS - set(IN_KAFKA) if log == "embedded" else POINTS - set(IN_UPKEEP)) <= killed
        assert {each.kind for each in rounds if each.log == log} == set(KINDS)
    chance = [kill for each in rounds for kill in each.kills if kill.chance]
    assert len(chance) >= 100
    assert {kill.victim for kill in chance} >= {"driver", "worker", "planner", "jvm", "executor"}
    assert any(kill.point == ANY_TIME for kill in chance)


def test_a_seed_decides_everything() -> None:
    assert all_rounds(7) == all_rounds(7)
    assert all_rounds(7) != all_rounds(8)


def test_shares_are_together_the_whole() -> None:
    for plan in all_rounds(1):
        shares = [share_of(plan, f"{number}/3").kills for number in (1, 2, 3)]
        assert (*shares[0], *shares[1], *shares[2]) == plan.kills
