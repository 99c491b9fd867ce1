"""Named points at which a test can kill a process: how exactly-once is shown to hold.

Armed by the environment: with `HEADRACE_FAILPOINTS=/some/folder` a process that passes the point `publish.before` while
there is a file of that name in the folder takes the file away and dies by SIGKILL. Where the file says `hold`, the
process waits instead, for as long as there is a file `publish.before.held`, in which it writes its number: time to
kill another one, just then.
Unarmed, a point costs one comparison.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Final

IN_PLANNER: Final = ("plan.before", "plan.after", "spark.committed")
"""Passed by the process that plans batches; `spark.committed` when Spark has written down that a batch is done."""
IN_WORKER: Final = (
    "read.before",
    "read.after",
    "prepare.before",
    "prepare.after",
    "process.after",
    "local_commit.inside",
    "local_commit.after",
    "task.after",
)
"""Passed by the workers: reading; then for each task stores made ready, records processed, changes on disk.
`local_commit.inside` is in the transaction of the local stores, when everything but its end is written.
"""
IN_RECOVERY: Final = ("restore.chunk", "undo.inside", "undo.after")
"""Passed by workers whose stores are not what the log says: in the middle of a restore or catch-up, and of an undo."""
IN_DRIVER: Final = (
    "batch.before",
    "collect.after",
    "publish.before",
    "publish.begun",
    "publish.records",
    "publish.sent",
    "publish.committed",
    "batch.told",
    "batch.after",
)
"""Passed by the driver: Spark hands the batch over, its rows are collected, then the transaction of the log, from its
begin to `publish.sent`, when everything but its end is written; the planner is told; the batch is handed back to Spark.
"""
IN_KAFKA: Final = ("publish.offsets", "publish.flushed")
"""Passed by the driver in a transaction of Kafka, between `publish.records` and `publish.sent`."""
IN_ADMIN: Final = (
    *("reset.begun", "reset.topic", "reset.local", "reset.done"),
    *("rescale.portion", "rescale.beside", "rescale.switched", "rescale.replaced", "rescale.done"),
)
"""Passed by `headrace reset`: the old state counts no more, one topic is gone, the local stores are, all is done; by
`headrace rescale`: some rows are beside the changelogs, all are, it only goes forward, one changelog is anew, all is
done.
"""
IN_UPKEEP: Final = ("upkeep.inside", "upkeep.after")
"""Passed by whoever compacts or tidies the embedded log: in the transaction that replaces some entries, and after."""

_folder = os.environ.get("HEADRACE_FAILPOINTS")
HOLD: Final = "hold"


def failpoint(name: str) -> None:
    """Die here, or wait, if a test has asked for it."""
    if _folder is not None:
        _reached(Path(_folder), name)


def _reached(folder: Path, name: str) -> None:
    held = folder / f"{name}.held"
    try:
        (folder / name).rename(held)
    except FileNotFoundError:
        return  # not asked for, or another process was faster
    if held.read_text() != HOLD:
        held.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    held.write_text(str(os.getpid()))
    while held.exists():
        time.sleep(0.002)
