"""`headrace check app.py --against saved.json`: can this version go on with the state of the saved one?"""

from __future__ import annotations

import argparse
import json

from headrace.cli.load import find_topology, load_module
from headrace.topology import Level, compare

MOVES, RESET = 3, 4
"""Exit codes, so that a deployment can stop by itself; 1 and 2 mean that nothing was compared."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "check",
        help="compare a topology with a saved one before an upgrade",
        description=f"{__doc__} Exit code 0: safe; {MOVES}: state is left behind, or readers of a topic break; "
        f"{RESET}: the application would have to start afresh.",
    )
    parser.add_argument("app", help="a Python file with `topology = builder.build()`")
    parser.add_argument(
        "--against", required=True, metavar="FILE", help="what `headrace describe --save` has written"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text", help="how to tell")
    parser.add_argument("--save", metavar="FILE", help="save this version if it is safe")
    parser.set_defaults(action=check)


def check(args: argparse.Namespace) -> int:
    """Compare, tell, and answer with a code."""
    topology = find_topology(load_module(args.app))
    found = compare(args.against, topology)
    if args.format == "json":
        told = {
            "level": found.level.name.lower(),
            "changes": [change.to_data() for change in found.changes],
        }
        print(json.dumps(told, indent=2))
    else:
        print(found)
    if args.save is not None and found.is_safe:
        topology.save(args.save)
    return {Level.SAFE: 0, Level.MOVES: MOVES, Level.BREAKS: MOVES, Level.RESET: RESET}[found.level]
