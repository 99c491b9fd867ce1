"""`headrace explain app.py`: show how a topology runs on Spark, as text or as a picture, without running it."""

from __future__ import annotations

import argparse
from pathlib import Path

from headrace.cli.common import pairs
from headrace.cli.load import add_application_options, application_of
from headrace.errors import ConfigError
from headrace.spark.explain import explain
from headrace.spark.explain.available import look


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "explain", help="show how a topology runs on Spark: stages, tasks, stores", description=__doc__
    )
    add_application_options(parser)
    parser.add_argument("--svg", metavar="FILE", help="draw it there")
    parser.add_argument("--mermaid", action="store_true", help="a Mermaid flowchart instead of text")
    parser.add_argument(
        "--partitions",
        action="append",
        default=[],
        metavar="TOPIC=NUMBER",
        help="assume so many, also for a topic that has others",
    )
    parser.add_argument("--master", help="Spark's master (default: the cores of this machine)")
    parser.set_defaults(action=explain_app)


def explain_app(args: argparse.Namespace) -> int:
    """Load the file, look which topics are there, and show the plan."""
    topology, config = application_of(args, master=args.master)
    topics, tasks = look(config)
    told = explain(topology, config, {**topics, **_numbers(args.partitions)}, tasks)
    if args.svg is not None:
        Path(args.svg).write_text(told.to_svg())
    if args.mermaid:
        print(told.to_mermaid(), end="")
    elif args.svg is None:
        print(told)
    return 0


def _numbers(said: list[str]) -> dict[str, int]:
    found = {}
    for topic, number in pairs(said, "--partitions").items():
        if not number.isdigit() or not int(number):
            raise ConfigError(f"`--partitions` takes TOPIC=NUMBER, got {topic}={number!r}")
        found[topic] = int(number)
    return found
