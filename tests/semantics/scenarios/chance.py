"""Topologies that chance has written, chosen so that together they have many operators behind one another."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from semantics.programs.build import build

PROGRAMS = Path(__file__).parents[3] / "conformance" / "programs.jsonl"

SCENARIOS = {
    program["name"]: partial(build, program) for program in map(json.loads, PROGRAMS.read_text().splitlines())
}
