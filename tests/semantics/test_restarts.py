"""A task that is made anew before every record goes on exactly: all it needs is in its stores and its snapshot."""

from __future__ import annotations

import pytest
from semantics.replay import Counts, replay
from semantics.scenarios import SCENARIOS

KEEPS_ATTRIBUTES = {"processor_context"}
"""Its processor counts in an attribute of its own, which dies with the task."""


@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - KEEPS_ATTRIBUTES))
def test_a_restart_before_every_step_changes_nothing(name: str) -> None:
    replay(name, Counts(), restarts=True)
