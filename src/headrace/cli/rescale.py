"""`headrace rescale app.py --tasks 8`: give a stopped application another number of tasks, with all its state."""

from __future__ import annotations

import argparse
import sys
import time

from headrace.admin.rescale.moving import clear_away, finish, left_over, rescale
from headrace.admin.rescale.plan import plan_rescale
from headrace.admin.stopped import Stopped, stopped
from headrace.cli.common import Commands, add_confirmation, is_confirmed
from headrace.cli.load import add_application_options, application_of
from headrace.errors import RescaleError


def register(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "rescale", help="give a stopped application another number of tasks", description=__doc__
    )
    add_application_options(parser)
    parser.add_argument(
        "--tasks", type=int, required=True, help="how many tasks each sub-topology is to have"
    )
    parser.add_argument(
        "--keyed",
        action="append",
        default=[],
        metavar="STORE",
        help="a store of a processor of your own whose rows are under the keys of their records",
    )
    add_confirmation(parser)
    parser.set_defaults(action=run)


def run(args: argparse.Namespace) -> int:
    """Show what is to be done, ask, do it."""
    if args.tasks < 1:
        raise RescaleError(f"`--tasks` is a number of one or more, got {args.tasks}")
    topology, config = application_of(args)
    show = _Progress()
    with stopped(topology, config, only_look=args.dry_run) as app:
        begun = _begun(app, args.tasks)
        if not begun and app.commit is not None and app.commit.task_count == args.tasks:
            left = [] if args.dry_run else left_over(app, app.commit)
            if left:
                clear_away(app, app.commit)
            end = "now" if left else "already: nothing was done"
            print(f"application `{config.application_id}` has {_tasks(args.tasks)} {end}")
            return 0
        if begun and args.dry_run:
            print("a rescaling was begun before and broken off: this one ends it\nnothing was done")
            return 0
        if begun:
            assert app.commit is not None
            finish(app, app.commit, show)
        else:
            plan = plan_rescale(app, args.tasks, keyed=args.keyed, seen=lambda count: show("counting", count))
            print("\n".join(plan.lines()))
            if args.dry_run:
                print("nothing was done")
                return 0
            if not is_confirmed(args, f"rescale application `{config.application_id}`?"):
                print("nothing was done")
                return 1
            show.total = plan.total
            rescale(app, plan, show)
    show.end()
    print(f"application `{config.application_id}` has {_tasks(args.tasks)} now")
    return 0


def _tasks(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"


def _begun(app: Stopped, tasks: int) -> bool:
    """Whether this very rescaling was begun and broken off after its point of no return."""
    pending = None if app.commit is None else app.commit.pending
    if pending is None or pending.kind != "rescale":
        return False
    if pending.tasks != tasks:
        raise RescaleError(
            f"a rescaling to {pending.tasks} tasks was begun and has not come to its end: run `headrace rescale "
            f"--tasks {pending.tasks}` first"
        )
    return True


class _Progress:
    """A line a second on standard error."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._doing = ""
        self._done: dict[str, int] = {}
        self.total = 0
        """How many records there are, once that is known; of a key that has several, fewer are written."""

    def __call__(self, doing: str, count: int) -> None:
        self._doing = doing
        step = doing.partition(" ")[0]
        self._done[step] = self._done.get(step, 0) + count
        if time.monotonic() - self._last >= 1:
            self.end()

    def end(self) -> None:
        """Tell what was done last."""
        self._last = time.monotonic()
        done = self._done.get(self._doing.partition(" ")[0])
        if done:
            of = f" of {self.total:,}" if self.total else ""
            print(f"{self._doing}: {done:,}{of} records", file=sys.stderr, flush=True)
