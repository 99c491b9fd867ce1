"""A full disk under the files of Spark itself: what is shuffled, and the checkpoint of the query."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headrace.disk import free
from headrace.errors import DiskFullError

_NO_ROOM = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
"""Java says it in the system's words."""


Setting: TypeAlias = Callable[[str], str | None]
"""How a setting of Spark's is asked for."""


def says_no_room(text: str) -> str | None:
    """The words with which Spark says, somewhere in a stack trace, that a disk is full.

    >>> says_no_room("Job aborted\\nCaused by: java.io.IOException: No space left on device")
    'No space left on device'
    >>> says_no_room("Job aborted") is None
    True
    """
    return next((words for words in _NO_ROOM if words in text), None)


def spark_disk_full(words: str, setting: Setting, *, one_host: bool) -> DiskFullError:
    """The error that names the folders to which Spark writes, with what is free there."""
    where = [f"`{folder}` ({free(Path(folder))} bytes are free)" for folder in _folders(setting)]
    on = "" if one_host else " of this host or of a worker's"
    return DiskFullError(
        f"a disk{on} to which Spark writes is full ({words}): its temporary files are in {' and '.join(where)}; make "
        "room and start again, or name folders on a larger disk with `--conf spark.local.dir=…` (what is shuffled) and "
        "the environment variable `TMPDIR` (the rest): the last commit is intact, and nothing is lost"
    )


@contextmanager
def spark_room(setting: Setting, *, one_host: bool) -> Iterator[None]:
    """What Spark is asked to do: a full disk under it is told as one."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        words = says_no_room(str(error))
        if words is None:
            raise
        raise spark_disk_full(words, setting, one_host=one_host) from error


def _folders(setting: Setting) -> list[str]:
    """Where Spark puts what it shuffles, as it decides itself, and where our own temporary files are."""
    shuffled = os.environ.get("SPARK_LOCAL_DIRS") or setting("spark.local.dir") or "/tmp"  # noqa: S108 - Java's, whatever `TMPDIR` says
    return list(dict.fromkeys([*filter(None, map(str.strip, shuffled.split(","))), tempfile.gettempdir()]))
