"""`headrace run app.py`: run a topology on Spark, on this machine or a cluster."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from types import FrameType
from typing import TextIO

from headrace.app import State, Streams
from headrace.cli.load import add_application_options, application_of
from headrace.spark.publish import Batch


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("run", help="run a topology on Spark", description=__doc__)
    add_application_options(parser)
    parser.add_argument("--master", help="Spark's master (default: the cores of this machine)")
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
    """Start, show progress, and stop between two commits at Ctrl-C or SIGTERM."""
    topology, config = application_of(args, master=args.master)
    streams = Streams(
        topology, config, take_over=args.take_over, accept_changes=args.accept_changes, verbose=args.verbose
    )
    stop = threading.Event()

    def asked_to_stop(number: int, frame: FrameType | None) -> None:
        stop.set()

    previous = {number: signal.signal(number, asked_to_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    if not args.quiet:
        print(topology.describe())
        show = Progress(streams, sys.stderr)
        streams.set_state_listener(show.state)
        streams.on_batch(show.batch)
    try:
        streams.start()
        if args.until_caught_up:
            streams.wait_until_caught_up()
        else:
            while not stop.is_set() and not streams.state.has_ended:
                stop.wait(0.2)
        if streams.state is not State.ERROR:
            streams.close()
        streams.wait(0)
    finally:
        streams.close()
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 0


class Progress:
    """A line for every change of state, and at most one a second for commits."""

    def __init__(self, streams: Streams, out: TextIO) -> None:
        self.streams = streams
        self.out = out
        self.last = 0.0

    def state(self, new: State, old: State) -> None:
        print(f"headrace: {self.streams.config.application_id} is {new.value}", file=self.out, flush=True)

    def batch(self, batch: Batch) -> None:
        now = time.monotonic()
        if now - self.last < 1:
            return
        self.last = now
        metrics = self.streams.metrics
        restored = f", {metrics.restored:,} restored" if metrics.restored else ""
        print(
            f"headrace: commit {batch.commit.number:,}: {metrics.records:,} records in, {metrics.outputs:,} out, "
            f"{metrics.rate():,.0f}/s{restored}",
            file=self.out,
            flush=True,
        )
