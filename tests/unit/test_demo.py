"""The verdict of the demo's second act: it must be able to say no."""

from __future__ import annotations

import pytest

from examples.demo_crash import Alerts, verdict

ALERTS: Alerts = {b"user-010": [(b"3", 1), (b"4", 2)], b"user-020": [(b"3", 5)]}


def test_the_same_alerts_in_the_same_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(100, 100, dict(ALERTS), ALERTS)
    assert capsys.readouterr().out.splitlines() == [
        "  transactions      100 sold            100 read by the application",
        "  alerts              3 written           3 by the test driver, from the same input",
        "— nothing was lost, nothing was doubled",
    ]


@pytest.mark.parametrize(
    ("found", "read"),
    [
        ({**ALERTS, b"user-020": [(b"3", 5), (b"3", 5)]}, 100),
        ({**ALERTS, b"user-020": []}, 100),
        ({**ALERTS, b"user-020": [(b"4", 5)]}, 100),
        ({**ALERTS, b"user-010": [(b"4", 2), (b"3", 1)]}, 100),
        ({**ALERTS, b"user-030": [(b"3", 7)]}, 100),
        (ALERTS, 99),
    ],
    ids=["doubled", "lost", "another", "out-of-order", "of-nobody", "not-all-read"],
)
def test_anything_else_is_told(found: Alerts, read: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert not verdict(100, read, found, ALERTS)
    assert "NOT THE SAME" in capsys.readouterr().out
