"""A disk without room: how it is recognised, what is free, and the error that says so."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import DiskFullError

# A write that was cut short, which is how a disk fills up, is an input/output error to LMDB.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def has_no_room(error: BaseException) -> bool:
    """Whether an error of the file system, or of LMDB over it, says that the disk is full.

    >>> (
    ...     has_no_room(OSError(errno.ENOSPC, "No space left on device")),
    ...     has_no_room(OSError(errno.ENOENT, "no file")),
    ... )
    (True, False)
    """
    code = getattr(error, "errno", None) or getattr(error, "code", 0)
    return code in NO_ROOM or any(os.strerror(number) in str(error) for number in NO_ROOM)


def free(path: Path) -> str:
    """How many bytes are free on the disk of a folder, which need not be there yet."""
    try:
        while not path.exists():
            path = path.parent
        disk = os.statvfs(path)
    except OSError:
        return "an unknown number of"
    return f"{disk.f_bavail * disk.f_frsize:,}"


def disk_full(path: Path, error: BaseException, *, needs: str, cure: str) -> DiskFullError:
    """The error that names the folder, what is needed and free, and the cure."""
    failing = ", or is failing" if os.strerror(errno.EIO) in str(error) else ""
    return DiskFullError(
        f"the disk under `{path}` is full{failing}: {needs}, and {free(path)} bytes are free; "
        f"make room and start again, or {cure}: the last commit is intact, and nothing is lost"
    )


@contextmanager
def temporary_room(path: Path, needs: str) -> Iterator[None]:
    """What is written to a temporary folder: a full disk there is told as one."""
    try:
        yield
    except OSError as error:
        if not has_no_room(error):
            raise
        cure = "set the environment variable `TMPDIR` to a folder on a larger disk"
        raise disk_full(path, error, needs=needs, cure=cure) from error
