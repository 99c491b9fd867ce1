"""`headrace drill restore app.py`: rebuild all stores from the changelogs, measure it, and compare.

Nothing of the application is changed, and it may be running meanwhile.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TextIO

from headrace.cli.load import add_application_options, application_of
from headrace.errors import ConfigError
from headrace.log import existing_log
from headrace.restore.drill import Drill, drill
from headrace.restore.progress import RestoreProgress, count, duration, size
from headrace.restore.rebuild import RebuiltStore
from headrace.restore.recorded import recorded
from headrace.spark.ship import Shipment, reference

DIFFERS = 3
"""Exit code when a rebuilt store is not what the local one holds."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("drill", help="rehearse what one hopes never to need", description=__doc__)
    drills = parser.add_subparsers(dest="drill", metavar="what", required=True)
    restore = drills.add_parser(
        "restore",
        help="rebuild all stores from the changelogs",
        description=f"{__doc__} Exit code 0: rebuilt, and equal where there was a local copy; {DIFFERS}: not equal.",
    )
    add_application_options(restore)
    restore.add_argument(
        "--into", metavar="DIR", help="rebuild them below this folder (default: beside the local stores)"
    )
    restore.add_argument(
        "--processes", type=int, metavar="N", help="tasks at a time (default: the cores of this machine)"
    )
    restore.add_argument("--format", choices=["text", "json"], default="text", help="how to tell")
    restore.add_argument("--quiet", action="store_true", help="no progress")
    restore.set_defaults(action=restore_drill)


def restore_drill(args: argparse.Namespace) -> int:
    """Rebuild, compare, tell, and answer with a code."""
    if args.processes is not None and args.processes < 1:
        raise ConfigError(f"`--processes` is a number of one or more, got {args.processes}")
    topology, config = application_of(args)
    log = existing_log(config)
    try:
        known = recorded(topology, config, log)
        topics = dict(log.topics())
    finally:
        log.close()
    shipment = Shipment(
        uuid.uuid4().hex, known.base.incarnation, reference(topology) or topology, config, topics, 1
    )
    beside = Path(args.into) if args.into is not None else config.state_path.parent
    beside.mkdir(parents=True, exist_ok=True)
    show = None if args.quiet else _Show(sys.stderr)
    with tempfile.TemporaryDirectory(prefix="headrace-drill-", dir=beside) as folder:
        found = drill(known, shipment.pack(), Path(folder), processes=args.processes, show=show)
    if show is not None:
        show.end()
    print(json.dumps(as_data(found), indent=2) if args.format == "json" else as_text(found))
    return DIFFERS if found.differing else 0


class _Show:
    """One line that is written over and over; where that is not possible, none."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._on = out.isatty()

    def __call__(self, progress: RestoreProgress) -> None:
        if self._on:
            self._out.write(f"\r\x1b[K{progress}")
            self._out.flush()

    def end(self) -> None:
        if self._on:
            self._out.write("\r\x1b[K")
            self._out.flush()


def as_text(found: Drill) -> str:
    """For people: a line for each store, one for all, and what the comparison says."""
    if not found.stores:
        return f"`{found.application_id}` has no stores with changelogs"
    rows = [_HEAD, *(_row(name, parts) for name, parts in found.stores.items())]
    whole = [part for parts in found.stores.values() for part in parts]
    rows.append(_row("in all", whole, found.seconds, len(found.tasks)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    first, last = min(task.commit for task in found.tasks), max(task.commit for task in found.tasks)
    commits = f"commit {first:,}" if first == last else f"commits {first:,} to {last:,}"
    lines = [
        f"restore drill of `{found.application_id}` as of {commits}, {count(found.processes, 'task')} at a time",
        "",
        *(_line(row, widths) for row in rows),
        "",
        f"most of the time went into {found.bottleneck}",
    ]
    reasons: dict[str, list[str]] = {}
    for task, reason in found.uncompared.items():
        reasons.setdefault(reason, []).append(task)
    lines += [f"not compared: {reason} ({', '.join(tasks)})" for reason, tasks in reasons.items()]
    for name, parts in found.stores.items():
        wrong = [f"{part.differing:,} in task {part.task}" for part in parts if part.differing]
        if wrong:
            lines.append(f"DIFFERENT: keys of `{name}`: {', '.join(wrong)}")
    return "\n".join(lines)


_HEAD: tuple[str, ...] = ("store", "tasks", "keys", "records", "bytes", "duration", "keys/s", "local copy")


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    first, *numbers, last = row
    cells = [number.rjust(width) for number, width in zip(numbers, widths[1:-1], strict=True)]
    return "  ".join([first.ljust(widths[0]), *cells, last])


def _row(
    name: str, parts: list[RebuiltStore], seconds: float | None = None, tasks: int | None = None
) -> tuple[str, ...]:
    spent = sum(part.seconds for part in parts) if seconds is None else seconds
    keys = sum(part.keys for part in parts)
    compared = [part.differing for part in parts if part.differing is not None]
    verdict = "–"
    if compared:
        verdict = f"{sum(compared):,} differ" if sum(compared) else "equal"
        if len(compared) < len(parts):
            verdict += f" ({len(compared)} of {len(parts)})"
    return (
        name,
        f"{len(parts) if tasks is None else tasks:,}",
        f"{keys:,}",
        f"{sum(part.records for part in parts):,}",
        size(sum(part.bytes for part in parts)),
        duration(spent),
        f"{keys / spent:,.0f}" if spent else "–",
        verdict,
    )


def as_data(found: Drill) -> dict[str, object]:
    """For programs."""
    return {
        "application_id": found.application_id,
        "commit": max((task.commit for task in found.tasks), default=0),
        "processes": found.processes,
        "seconds": found.seconds,
        "keys": found.keys,
        "records": found.records,
        "bytes": found.bytes,
        "keys_per_second": found.keys / found.seconds if found.seconds else 0.0,
        "bottleneck": found.bottleneck,
        "differing": found.differing,
        "uncompared": found.uncompared,
        "stores": {
            name: {
                "keys": sum(part.keys for part in parts),
                "records": sum(part.records for part in parts),
                "bytes": sum(part.bytes for part in parts),
                "seconds": sum(part.seconds for part in parts),
                "differing": sum(part.differing or 0 for part in parts),
            }
            for name, parts in found.stores.items()
        },
    }
