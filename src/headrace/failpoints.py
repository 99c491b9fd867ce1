"""Named points at which a test can kill the process: how exactly-once is shown to hold.

Armed by the environment: `HEADRACE_FAILPOINT=publish.before@/some/flag` kills the process with SIGKILL, once, when
it passes `publish.before` while the flag file is there. Not armed, a point costs one comparison.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

POINTS = (
    "plan.before",
    "plan.after",
    "read.before",
    "read.after",
    "process.before",
    "process.after",
    "local_commit.after",
    "collect.after",
    "publish.before",
    "publish.sent",
    "publish.committed",
    "batch.after",
)

_name, _, _flag = os.environ.get("HEADRACE_FAILPOINT", "").partition("@")


def failpoint(name: str) -> None:
    """Die here, if a test has asked for it."""
    if name == _name:
        try:
            Path(_flag).unlink()
        except FileNotFoundError:
            return  # it has happened already
        os.kill(os.getpid(), signal.SIGKILL)
