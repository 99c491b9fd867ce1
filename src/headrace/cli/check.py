"""`headrace check app.py`: can this version go on with the state of the one that ran last, or of a saved one?"""

from __future__ import annotations

import argparse
import json

from headrace.cli.load import add_application_options, application_of
from headrace.config import StreamsConfig
from headrace.errors import StartError
from headrace.log import log_config, open_log
from headrace.log.commits import TOPOLOGY
from headrace.resolve import resolved_data
from headrace.topology import Level, compare
from headrace.topology.topology import Topology
from headrace.topology.upgrade.changes import Change, Comparison
from headrace.topology.upgrade.comparing import compare_with_kept

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
    add_application_options(parser)
    parser.add_argument(
        "--against",
        metavar="FILE",
        help="what `headrace describe --save` has written; default: the topology of the application's last commit",
    )
    parser.add_argument("--format", choices=["text", "json"], default="text", help="how to tell")
    parser.add_argument("--save", metavar="FILE", help="save this version if it is safe")
    parser.set_defaults(action=check)


def check(args: argparse.Namespace) -> int:
    """Compare, tell, and answer with a code."""
    topology, config = application_of(args)
    found = compare(args.against, topology) if args.against else _against_the_log(topology, config)
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


def _against_the_log(topology: Topology, config: StreamsConfig) -> Comparison:
    kept, wrong = None, list[Change]()
    if config.bootstrap_servers is not None or config.log_path.is_dir():
        log = open_log(log_config(config))
        try:
            kept = log.committed(config.application_id, TOPOLOGY)
            # Lazy, because it brings Spark, which a comparison with a file does not need.
            from headrace.admin.checking import refused

            wrong += refused(log, topology, config)
        finally:
            log.close()
    if kept is None:
        raise StartError(
            f"the log knows no topology of application `{config.application_id}`: it has not run yet; "
            "compare with a file, `--against saved.json`"
        )
    found = compare_with_kept(kept, resolved_data(topology, config))
    return Comparison(tuple(sorted((*wrong, *found.changes), key=lambda change: -change.level)))
