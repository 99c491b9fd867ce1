"""Small scripts around `java` and `python` that Spark is given in their place, to leave out what only costs time."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

from headrace.errors import StartError


def java_home(java: Path) -> str:
    """A JAVA_HOME for Spark whose `java` leaves out a module that Spark's launcher asks for.

    The wheel's Java lacks it and would not start; any other Java prints a warning about it on the user's terminal.
    """
    text = (
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        '  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec "{java}" "$@"\n'
    )
    return str(_script(f"java-{_flat(java)}/bin/java", text).parent.parent)


def python() -> str:
    """The running interpreter, for Spark's workers, without the zipped copy of pyspark in front of the installed one.

    What is imported from a zip is compiled anew by every process: half a second each, five processes to a start.
    """
    text = (
        "#!/bin/sh\n"
        "path= separator=$IFS IFS=:\n"
        "for entry in $PYTHONPATH; do\n"
        '  case "$entry" in */pyspark.zip) ;; *) path=$path${path:+:}$entry ;; esac\n'
        "done\n"
        "IFS=$separator\n"
        # Processes that only describe the source to Spark are ended when idle, and die with a stack trace.
        'case "$2 $3" in "pyspark.daemon pyspark.sql.worker."*) exec 2>/dev/null ;; esac\n'
        f'PYTHONPATH=$path exec "{sys.executable}" "$@"\n'
    )
    return str(_script(f"python-{_flat(Path(sys.executable))}/python", text))


def is_shim(file: Path) -> bool:
    """Whether this is one of ours."""
    return folder() in file.parents


def folder() -> Path:
    """Where the scripts are: in the temporary folder, one set per user. StartError if another user could put his there:
    Spark runs them.
    """
    path = Path(tempfile.gettempdir()) / f"headrace-{os.getuid()}"
    try:
        found = path.lstat()
    except FileNotFoundError:
        return path
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & stat.S_IWOTH:
        raise StartError(
            f"`{path}` is not a folder that only you can write to, and what Spark runs is kept there: remove it, or "
            "set TMPDIR to a folder of your own"
        )
    return path


def _flat(path: Path) -> str:
    return path.as_posix().strip("/").replace("/", "-")


def _script(name: str, text: str) -> Path:
    script = folder() / name
    script.parent.mkdir(parents=True, exist_ok=True)
    if not script.exists() or script.read_text() != text:
        fresh = script.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(fresh.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        fresh.replace(script)
    return script
