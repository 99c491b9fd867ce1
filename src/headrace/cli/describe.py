"""`headrace describe app.py`: show a topology as text, as data or as a picture, without running it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from headrace.cli.load import find_topology, load_module
from headrace.topology.topology import Topology

FORMATS: Mapping[str, Callable[[Topology, str], str]] = {
    "text": lambda topology, title: f"{topology.describe()}\n",
    "json": lambda topology, title: topology.to_json(indent=2) + "\n",
    "mermaid": lambda topology, title: topology.to_mermaid(),
    "svg": Topology.to_svg,
    "html": Topology.to_html,
}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "describe", help="show a topology as text, as data or as a picture", description=__doc__
    )
    parser.add_argument("app", help="a Python file with `topology = builder.build()`")
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: Kafka Streams' text")
    parser.add_argument("--output", metavar="FILE", help="write there instead of to the terminal")
    parser.add_argument(
        "--save", metavar="FILE", help="also save the topology, for `headrace check --against`"
    )
    parser.set_defaults(action=describe)


def describe(args: argparse.Namespace) -> int:
    """Load the file, and show what it builds."""
    topology = find_topology(load_module(args.app))
    shown = FORMATS[args.format](topology, Path(args.app).stem)
    if args.output is None:
        print(shown, end="")
    else:
        Path(args.output).write_text(shown)
    if args.save is not None:
        topology.save(args.save)
    return 0
