"""The user's own line: where a node was made, so that an error can point at it."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from types import FrameType
from typing import NamedTuple

_PACKAGE = str(Path(__file__).resolve().parent) + os.sep


class Origin(NamedTuple):
    """A file and a line of the user's program."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


NOWHERE = Origin("<unknown>", 0)


def caller() -> Origin:
    """The innermost frame on the stack that is not Headrace's own."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) or _is_generated(frame):
        if frame.f_back is None:
            return NOWHERE
        frame = frame.f_back
    return Origin(frame.f_code.co_filename, frame.f_lineno)


def _is_generated(frame: FrameType) -> bool:
    """A dataclass's own `__init__`, which has no file."""
    return frame.f_code.co_filename == "<string>" and str(frame.f_globals.get("__name__")).startswith(
        "headrace."
    )


def raised_at(error: BaseException) -> Origin:
    """Where a callback raised: the innermost line of the traceback that is the user's own.

    A library that the callback called (Python's own included) counts only if nothing else is there.
    """
    libraries = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")})
    users = somebodys = NOWHERE
    traceback = error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(_PACKAGE):
            somebodys = Origin(file, traceback.tb_lineno)
            if not file.startswith((*libraries, "<frozen")):
                users = somebodys
        traceback = traceback.tb_next
    return somebodys if users == NOWHERE else users
