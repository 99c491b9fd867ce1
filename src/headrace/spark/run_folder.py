"""The temporary folder of one run: progress, Spark's checkpoint and large messages. Nothing in it outlives the run.

The driver holds a lock on a file in it, which the system takes away when the process ends, however it ends. So whoever
starts next can tell what a killed run has left, and clears it away.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

from headrace.disk import temporary_room
from headrace.log.embedded.lock import FileLock

logger = logging.getLogger("headrace")

PREFIX = "headrace-run-"
LOCK = "lock"
YOUNG = 60.0
"""Seconds in which a folder without a lock may be one that is just being made."""


class RunFolder:
    """A new folder, until `remove`.

    >>> folder = RunFolder()
    >>> folder.path.name.startswith("headrace-run-"), folder.path.is_dir()
    (True, True)
    >>> folder.remove()
    >>> folder.path.exists()
    False
    """

    def __init__(self) -> None:
        beside = Path(tempfile.gettempdir())
        clear_up(beside)
        with temporary_room(beside, "a run needs some room for files of its own"):
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=beside))
            self._lock = FileLock(self.path / LOCK)
            self._lock.acquire()

    def remove(self) -> None:
        """Delete it, and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.release(remove=False)


def clear_up(beside: Path) -> list[Path]:
    """Delete the folders of this user's runs that have ended without doing so; which ones.

    Runs that live, of whatever application, hold their locks; folders of other users are theirs.
    """
    gone = []
    for path in sorted(beside.glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError):  # somebody else was quicker
            status = path.lstat()
            if (
                stat.S_ISDIR(status.st_mode)
                and status.st_uid == os.getuid()
                and _is_left(path, status.st_mtime)
            ):
                gone.append(path)
    if gone:
        logger.info("cleared away what %d killed run(s) have left in `%s`", len(gone), beside)
    return gone


def _is_left(path: Path, changed: float) -> bool:
    """Whether nobody has the folder any more. If so, it is gone now."""
    try:
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        if time.time() - changed < YOUNG:
            return False
        path.rmdir()  # what has files but no lock is not of this making
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Under the lock: two starts at once do not get into each other's way.
        shutil.rmtree(path)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
