"""Spark's classes in an archive of Java's: a start takes half the processor time, and `make chaos` has a hundred."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from tests.chaos.apps import aggregating
from tests.chaos.drivers import ROOT, process_environment

FOLDER = ROOT / ".cache" / "java"
QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"


def use_archive() -> None:
    """Make the archive if there is none; all processes that are started from now on use it. Java leaves it alone where
    it does not fit, such as after an update.
    """
    file = FOLDER / f"spark-{pyspark.__version__}.jsa"
    if not file.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        _record(file)
    if file.exists():
        os.environ["JAVA_TOOL_OPTIONS"] = f"-XX:SharedArchiveFile={file} {QUIET}"


def _record(file: Path) -> None:
    """Run an application once; Java writes the archive when it ends."""
    fresh = file.with_suffix(f".{os.getpid()}")
    with tempfile.TemporaryDirectory(prefix="headrace-java-") as folder:
        command = [
            sys.executable,
            "-m",
            "headrace.cli.main",
            "run",
            str(aggregating.__file__),
            "--until-caught-up",
        ]
        subprocess.run(
            [*command, "--data-dir", folder],
            env=process_environment() | {"JAVA_TOOL_OPTIONS": f"-XX:ArchiveClassesAtExit={fresh} {QUIET}"},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
            timeout=300,
        )
    if fresh.exists():
        fresh.replace(file)
