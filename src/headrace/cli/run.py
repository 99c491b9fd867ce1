"""`headrace run app.py`: run a topology on Spark, on this machine or a cluster."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from types import FrameType

from headrace.app import Streams
from headrace.cli.common import pairs
from headrace.cli.load import add_application_options, application_of
from headrace.cli.terminal import Terminal


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("run", help="run a topology on Spark", description=__doc__)
    add_application_options(parser)
    parser.add_argument("--master", help="Spark's master (default: the cores of this machine)")
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting for Spark; can be repeated",
    )
    parser.add_argument(
        "--take-over", action="store_true", help="stop another process that runs this application"
    )
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="go on although the topology has changed so that some state is left behind",
    )
    parser.add_argument("--until-caught-up", action="store_true", help="process what is there, then stop")
    parser.add_argument("--quiet", action="store_true", help="no topology and no progress")
    parser.add_argument("--verbose", action="store_true", help="Spark's warnings, and stack traces")
    parser.set_defaults(action=run)


def run(args: argparse.Namespace) -> int:
    """Start, show progress, and stop between two commits at Ctrl-C or SIGTERM; at a second one at once."""
    topology, config = application_of(args, master=args.master)
    if args.conf:
        config = replace(config, spark={**config.spark, **pairs(args.conf, "--conf")})
    streams = Streams(
        topology, config, take_over=args.take_over, accept_changes=args.accept_changes, verbose=args.verbose
    )
    terminal = None if args.quiet else Terminal(streams, verbose=args.verbose)
    with stopped_by_signals(streams, terminal):
        if terminal is not None:
            print(topology.describe(), flush=True)
            terminal.open()
        try:
            streams.start(until_caught_up=args.until_caught_up)
            streams.wait()
        finally:
            streams.close()
            if terminal is not None:
                terminal.close()
    return 0


@contextmanager
def stopped_by_signals(streams: Streams, terminal: Terminal | None) -> Iterator[None]:
    """SIGINT and SIGTERM close the application, whatever it does; the second one does not wait."""
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        if len(asked) > 1:
            # A commit is in the log or not: there is nothing to clear up. Spark ends with this process.
            os._exit(128 + number)
        if terminal is not None:
            terminal.hint = "it stops after the running batch; once more (Ctrl-C) stops it at once"
        streams.close(timedelta(0))

    previous = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
