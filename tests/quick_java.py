"""Spark's classes in an archive of Java's: a process that finds them there starts with half the processor time.

`make slow` and `make chaos` start many. `python -m tests.quick_java` makes the archive if there is none; test runs use
it if there is one. It fits one Java and one set of jars, which its name stands for; Java itself looks once more, and
leaves one alone that does not fit.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.kafka.jars import java

FOLDER = Path(__file__).parents[1] / ".cache" / "java"
OPTIONS = "SPARK_SUBMIT_OPTS"
"""The variable with options for the Java of a Spark driver; `JAVA_TOOL_OPTIONS` would be told on every terminal."""
QUIET = "-Xlog:disable"
"""An archive that does not fit is no news."""


def use_archive() -> None:
    """Spark drivers that are started from now on, here or below this process, use the archive if there is one."""
    file, options = archive(), os.environ.get(OPTIONS, "")
    if file is not None and file.exists() and str(file) not in options:
        os.environ[OPTIONS] = f"{options} -XX:SharedArchiveFile={file} {QUIET}".lstrip()


def for_all_java() -> dict[str, str]:
    """The variable with which all of Spark's Java processes use it, not only drivers; each prints a line of it."""
    return {"JAVA_TOOL_OPTIONS": os.environ[OPTIONS]} if OPTIONS in os.environ else {}


def archive() -> Path | None:
    """The file, made or not; None where there is no Java, as the tests that need one will say."""
    # Importing Spark would take longer than many a test run.
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        return None
    try:
        places = (Path(java()).resolve(), Path(found.origin).parent / "jars")
        marks = [f"{place} {place.stat().st_mtime_ns}" for place in places]
    except (ImportError, OSError):
        return None
    return FOLDER / f"spark-{hashlib.sha256(' '.join(marks).encode()).hexdigest()[:12]}.jsa"


def make_archive() -> None:
    """Make it if there is none; several processes may do so at once."""
    file = archive()
    if file is None or file.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if file.exists():
            return
        fresh = file.with_suffix(".part")
        fresh.unlink(missing_ok=True)
        _record(fresh)
        if fresh.exists():
            fresh.replace(file)
        else:  # such as a Java without an archive of its own classes
            print(
                f"{java()} makes no archive of Spark's classes; all goes on, but not as quickly", flush=True
            )


def _record(file: Path) -> None:
    """Run an application that comes to all that a batch does; its Java writes the archive when it ends."""
    # Here, because test runs import this module first of all.
    from headrace.log.embedded import EmbeddedLog
    from tests.chaos.apps import aggregating
    from tests.chaos.drivers import process_environment
    from tests.spark.harness.inputs import parts
    from tests.spark.harness.records import append

    with tempfile.TemporaryDirectory(prefix="headrace-java-") as folder:
        with EmbeddedLog(Path(folder) / "log") as log:
            log.create_topic("in", 2)
            for part in parts("in", count=1, size=200):
                append(log, part)
        app = str(aggregating.__file__)
        command = [sys.executable, "-m", "headrace.cli.main", "run", app, "--until-caught-up", "--quiet"]
        # What is wrong with an application, tests say better. Its Java outlives it, and holds the pipe until the
        # archive is written.
        subprocess.run(
            [*command, "--data-dir", folder],
            env=process_environment() | {OPTIONS: f"-XX:ArchiveClassesAtExit={file} {QUIET}"},
            cwd=folder,
            stdout=subprocess.PIPE,
            check=False,
            timeout=300,
        )


if __name__ == "__main__":
    make_archive()
