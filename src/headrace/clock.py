"""The wall clock of an application: it is read when a batch is planned, and all tasks of the batch see that time.

A test can stop it: where `HEADRACE_FAILPOINTS` names a folder (see `headrace.failpoints`) with a file `clock` in it,
the time is the number of milliseconds in that file.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_folder = os.environ.get("HEADRACE_FAILPOINTS")


def now_ms() -> int:
    """Milliseconds since the epoch."""
    if _folder is not None:
        try:
            return int(Path(_folder, "clock").read_text())
        except FileNotFoundError:
            pass  # a test that lets time pass
    return time.time_ns() // 1_000_000
