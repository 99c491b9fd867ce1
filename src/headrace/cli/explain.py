"""`headrace explain app.py`: show how a topology runs on Spark, as text or as a picture, without running it."""

from __future__ import annotations

import argparse
from pathlib import Path

from headrace.cli.common import pairs
from headrace.cli.load import add_application_options, application_of
from headrace.errors import ConfigError
from headrace.spark.explain import explain
from headrace.spark.explain.available import look
from headrace.spark.named_topics import missing_topics
from headrace.topology.topology import Topology


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
    told = explain(topology, config, {**topics, **_numbers(args.partitions, topology)}, tasks)
    if args.svg is not None:
        Path(args.svg).write_text(told.to_svg())
    if args.mermaid:
        print(told.to_mermaid(), end="")
    elif args.svg is None:
        print(told)
    return 0


def _numbers(said: list[str], topology: Topology) -> dict[str, int]:
    found = {}
    for topic, number in pairs(said, "--partitions").items():
        if not _is_read_or_written(topology, topic):
            raise ConfigError(
                f"`--partitions {topic}={number}`: the topology neither reads nor writes `{topic}`"
            )
        if not number.isdecimal() or not int(number):
            raise ConfigError(f"`--partitions` takes TOPIC=NUMBER, got {topic}={number!r}")
        found[topic] = int(number)
    return found


def _is_read_or_written(topology: Topology, topic: str) -> bool:
    """Whether a number of partitions for it can mean anything. A sink that chooses its topics may write to any."""
    subs = topology.sub_topologies()
    patterns = [source.pattern for sub in subs for source in sub.sources if source.pattern is not None]
    return (
        any(topic == name for name, _ in missing_topics(topology, {}))
        or any(pattern.fullmatch(topic) for pattern in patterns)
        or any(sink.topic is None for sub in subs for sink in sub.sinks)
    )
