"""Named points at which a test can kill the process: how exactly-once is shown to hold.

Armed by the environment: with `HEADRACE_FAILPOINTS=/some/folder` a process that passes the point `publish.before` while
there is a file of that name in the folder removes the file and dies by SIGKILL. Unarmed, a point costs one comparison.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Final

IN_PLANNER: Final = ("plan.before", "plan.after")
"""Passed by the process that plans batches."""
IN_WORKER: Final = (
    "read.before",
    "read.after",
    "prepare.after",
    "process.after",
    "local_commit.after",
    "task.after",
)
"""Passed by the workers: reading; then for each task stores made ready, records processed, changes on disk."""
IN_DRIVER: Final = (
    "collect.after",
    "publish.before",
    "publish.sent",
    "publish.committed",
    "batch.after",
)
"""Passed by the driver; `publish.sent` is inside the transaction of the log, when everything but its end is written."""

_folder = os.environ.get("HEADRACE_FAILPOINTS")


def failpoint(name: str) -> None:
    """Die here, if a test has asked for it."""
    if _folder is not None:
        try:
            Path(_folder, name).unlink()
        except FileNotFoundError:
            return  # not asked for, or another process was faster
        os.kill(os.getpid(), signal.SIGKILL)
