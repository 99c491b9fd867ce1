"""Topologies by chance through the real Kafka Streams and through the test driver, compared record by record.

    python -m semantics.fuzz --programs 200 --seed 7      (in tests/; `make fuzz` does it)

A difference is a bug, here or in the programs. Every program can be had again by its number.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from semantics.cases import read_case
from semantics.programs.build import build
from semantics.programs.generate import generate
from semantics.replay import Counts, replay_case
from semantics.scenarios import DEFAULT_CONFIG

from headrace import HeadraceError, StreamsBuilder, Topology

SCRIPT = Path(__file__).parents[2] / "scripts" / "kafka-streams"


def topology(program: dict[str, Any]) -> Topology:
    builder = StreamsBuilder()
    build(program, builder)
    return builder.build(optimization=program.get("optimization", "none"))


def compare(program: dict[str, Any], folder: Path, counts: Counts) -> str:
    """What came of it, in a word; a difference is told on standard output."""
    name = program["name"]
    refused = folder / f"{name}.error"
    if refused.exists():
        reason = refused.read_text().splitlines()[0]
        try:
            topology(program)
        except HeadraceError:
            return "refused by both"
        print(f"{name}: only Kafka Streams refuses it: {reason}")
        return "refused by Kafka Streams"
    case = read_case(folder / f"{name}.json")
    try:
        assert str(topology(program).describe()) == case.describe, f"{name}: describe()"
        replay_case(case, partial(topology, program), DEFAULT_CONFIG, counts)
    except AssertionError as difference:
        print(str(difference).splitlines()[0])
        return "different"
    except HeadraceError as error:
        print(f"{name}: {type(error).__name__}: {error}")
        return "refused by Headrace"
    return "same"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=200, help="how many topologies")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first one")
    parser.add_argument(
        "--size", type=int, default=9, help="how many operators at most, without sources and sinks"
    )
    parser.add_argument("--optimization", default="none", help="`topology.optimization`, on both sides")
    parser.add_argument("--folder", type=Path, help="where to leave programs and cases")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary if given.folder is None else given.folder).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        numbers = range(given.seed, given.seed + given.programs)
        programs = [generate(number, f"program-{number}", given.size) for number in numbers]
        if given.optimization != "none":
            programs = [{**program, "optimization": given.optimization} for program in programs]
        lines = folder / "programs.jsonl"
        lines.write_text("".join(json.dumps(program) + "\n" for program in programs))
        subprocess.run([SCRIPT, "RunPrograms", lines, folder], check=True)
        counts = Counts()
        tally = Counter(compare(program, folder, counts) for program in programs)
    print(
        f"{counts.runs} runs, {counts.steps} steps, {counts.records} records, {counts.rows} store rows compared"
    )
    print(", ".join(f"{number} {what}" for what, number in tally.most_common()))
    return 0 if tally.keys() <= {"same", "refused by both"} else 1


if __name__ == "__main__":
    sys.exit(main())
