"""`headrace check app.py`: can this version go on with the state of the one that ran last, or of a saved one?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from headrace.app.refusing import refusals, source_ids, with_new_partitions
from headrace.app.topics import topics_at_start
from headrace.cli.load import add_application_options, application_of
from headrace.config import StreamsConfig
from headrace.errors import StartError
from headrace.log import log_config, open_log
from headrace.log.base import TopicLog
from headrace.log.commits import TOPOLOGY
from headrace.resolve import resolved_data
from headrace.spark.commit import CommitRecord, decode
from headrace.spark.layout import lay_out
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
    kept, refused = None, list[Change]()
    if config.bootstrap_servers is not None or config.log_path.is_dir():
        log = open_log(log_config(config))
        try:
            kept = log.committed(config.application_id, TOPOLOGY)
            refused += _refused(log, topology, config)
        finally:
            log.close()
    if kept is None:
        raise StartError(
            f"the log knows no topology of application `{config.application_id}`: it has not run yet; "
            "compare with a file, `--against saved.json`"
        )
    found = compare_with_kept(kept, resolved_data(topology, config))
    return Comparison(tuple(sorted((*refused, *found.changes), key=lambda change: -change.level)))


def _refused(log: TopicLog, topology: Topology, config: StreamsConfig) -> Iterator[Change]:
    """Why a start would refuse to go on from the last commit, as far as the topics are there."""
    record, topics = log.committed(config.application_id), topics_at_start(log.topics(), topology, config)
    base = None if record is None else decode(record, CommitRecord)
    if base is None or base.pending is not None or topics is None:
        return
    extractor = config.default_timestamp_extractor
    layout = lay_out(topology, config.application_id, topics, extractor, base.task_count)
    base, ids = with_new_partitions(log, layout, base), source_ids(log, layout, config)
    for refusal in refusals(log, layout, base, config, ids):
        level = Level.MOVES if refusal.may_be_accepted else Level.RESET
        origin = refusal.error.origin
        yield Change(
            level,
            f"topic `{refusal.topic}`",
            refusal.error.message,
            origin=None if origin is None else str(origin),
        )
