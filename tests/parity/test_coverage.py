"""No operator is left out: what no scenario reaches is known, and shown by a test of its own."""

from __future__ import annotations

from pathlib import Path

from tests.parity.coverage import ELSEWHERE, coverage

ROOT = Path(__file__).parents[2]
BASE = {"Deduplicate": "deduplicate", "MapValuesAsync": "map_values_async", "custom": "custom_store"}
"""How the users call what has another name inside."""


def test_what_no_scenario_reaches_has_a_test_of_its_own() -> None:
    missing = {name for names in coverage().missing().values() for name in names}
    assert missing == set(ELSEWHERE)
    for name, file in ELSEWHERE.items():
        assert BASE.get(name, name.rpartition(".")[2]) in (ROOT / file).read_text(), f"{name} in {file}"
