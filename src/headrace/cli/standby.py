"""`headrace standby app.py`: keep a warm copy of an application's stores on this host."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from types import FrameType

from headrace.cli.load import add_application_options, application_of
from headrace.errors import HeadraceError
from headrace.log import existing_log
from headrace.restore.recorded import recorded
from headrace.restore.standby import Standby, Status, keep_following


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "standby", help="keep a warm copy of an application's stores on this host", description=__doc__
    )
    add_application_options(parser)
    parser.add_argument(
        "--standby-dir",
        help="where the copies are kept (default: beside the local stores); better on another disk",
    )
    parser.add_argument("--until-caught-up", action="store_true", help="copy what is there, then stop")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(action=follow)


def follow(args: argparse.Namespace) -> int:
    """Follow the changelogs until Ctrl-C or SIGTERM."""
    topology, config = application_of(args, standby_dir=args.standby_dir)
    ending = threading.Event()

    def asked_to_stop(number: int, frame: FrameType | None) -> None:
        ending.set()

    previous = {number: signal.signal(number, asked_to_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    log = existing_log(config)
    try:
        standby = Standby(recorded(topology, config, log), log)
        try:
            show = _Show(quiet=args.quiet)
            keep_following(standby, ending, show, until_caught_up=args.until_caught_up)
            if standby.shutdown is not None:
                raise HeadraceError(f"the application was shut down in all its processes: {standby.shutdown}")
        finally:
            standby.close()
    finally:
        log.close()
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 0


class _Show:
    """A line whenever it has got further."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._last: tuple[int, int] | None = None

    def __call__(self, status: Status) -> None:
        now = status.commit, status.behind
        if not self._quiet and now != self._last:
            print(f"headrace: {status}", file=sys.stderr, flush=True)
        self._last = now
