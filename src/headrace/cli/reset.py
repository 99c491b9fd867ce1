"""`headrace reset app.py`: start a stopped application afresh. Its output topics are never touched."""

from __future__ import annotations

import argparse
import sys

from headrace.admin.beginnings import Beginning, to_datetime, to_duration
from headrace.admin.reset import plan_reset, reset
from headrace.admin.stopped import stopped
from headrace.cli.common import Commands, add_confirmation, is_confirmed
from headrace.cli.load import add_application_options, application_of
from headrace.errors import ConfigError


def register(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("reset", help="start a stopped application afresh", description=__doc__)
    add_application_options(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--to-earliest", action="store_true", help="read the inputs from their first records")
    where.add_argument("--to-latest", action="store_true", help="read what comes from now on")
    where.add_argument("--to-datetime", metavar="TIME", help="from YYYY-MM-DDTHH:mm:SS.sss on (UTC)")
    where.add_argument("--by-duration", metavar="DURATION", help="the last PnDTnHnMnS, as in PT1H30M")
    where.add_argument("--to-offset", type=int, metavar="N", help="from this offset of each partition on")
    parser.add_argument(
        "--input-topics", metavar="A,B", help="the inputs for which that holds (default: all of them)"
    )
    add_confirmation(parser)
    parser.set_defaults(action=run)


def run(args: argparse.Namespace) -> int:
    """Show what is to be done, ask, do it."""
    if args.to_offset is not None and args.to_offset < 0:
        raise ConfigError(f"`--to-offset` is a number of zero or more, got {args.to_offset}")
    topology, config = application_of(args)
    beginning = Beginning(
        args.to_earliest,
        args.to_latest,
        None if args.to_datetime is None else to_datetime(args.to_datetime),
        None if args.by_duration is None else to_duration(args.by_duration),
        args.to_offset,
    )
    if args.input_topics is not None and not beginning.is_chosen:
        raise ConfigError(
            "`--input-topics` says for which inputs a beginning holds: give one, such as `--to-latest`"
        )
    only = None if args.input_topics is None else args.input_topics.split(",")
    with stopped(topology, config, only_look=args.dry_run) as app:
        plan = plan_reset(app, beginning, only)
        if plan.is_empty:
            print(f"application `{config.application_id}` has nothing to reset")
            return 0
        print("\n".join(plan.lines()))
        if args.dry_run:
            print("nothing was done")
            return 0
        if not is_confirmed(args, f"reset application `{config.application_id}`?"):
            print("nothing was done")
            return 1
        reset(app, plan, lambda line: print(line, file=sys.stderr))
    print(f"application `{config.application_id}` starts afresh")
    return 0
