"""An archive of Spark's classes, made and read by Java itself: a start takes half of the JVM's processor time with it.

The JVM of the second run writes it when it ends. That is after the application has ended, so nobody waits for it, and
nobody is there to give it its name: the next start does. Whoever runs one application once, as in a container, does not
pay for it. Archives are in the user's cache folder, one for each Java, Spark and set of options; where that cannot be
written there are none. `HEADRACE_JAVA_ARCHIVE=off` in the environment turns it off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import uuid
from pathlib import Path

from headrace.spark.java import version_of

VARIABLE = "HEADRACE_JAVA_ARCHIVE"
OTHERS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
"""Where users give options to a JVM. Two archives are an error to Java, and an agent keeps it from making one."""
CONFLICTS = ("Archive", "-Xshare", "AOT", "-javaagent")
RENAMED = 24
"""The version from which on Java speaks of archives under another tag, which older ones do not know."""
UNFINISHED = 3600
"""Seconds after which something that a killed process has left is removed."""
OLD = 90 * 24 * 3600
"""Seconds after which an archive goes when a new one comes: its Java or Spark is gone, or it is soon made again."""

_note: Path | None = None
"""What to make when this process's JVM has been through all that a run does."""
_used: Path | None = None
"""The archive that this process's JVM was told to use."""


def archive_options(java: Path, spark_home: Path, options: str) -> str:
    """Options with which a JVM that gets `options` uses the archive, or makes it; perhaps none. Never fails.

    Call `note_a_whole_run` when that JVM has done what a run does.
    """
    global _note, _used
    _note = _used = None
    try:
        return _options(java, spark_home, options)
    except (OSError, RuntimeError):  # a folder without rights; no home
        return ""


def note_a_whole_run() -> None:
    """Call when this process's JVM has loaded what a run needs: if it makes an archive, that one is worth keeping."""
    if _note is not None:
        with contextlib.suppress(OSError):
            _note.touch()


def drop_archive() -> None:
    """Call when a JVM has not come up with these options: it starts again without, and what it used is thrown away."""
    global _note
    _note = None
    if _used is not None:
        with contextlib.suppress(OSError):
            _used.unlink()


def _options(java: Path, spark_home: Path, options: str) -> str:
    global _note, _used
    folder = _folder()
    # Java adds to an archive of its own classes; the wheel's has none.
    can = (java.parents[1] / "lib" / "server" / "classes.jsa").exists()
    if not can or _is_unwanted() or any(letter.isspace() or letter in "\"'" for letter in str(folder)):
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"spark-{_fingerprint(java, spark_home, options)}.jsa"
    if not file.exists():
        _adopt(file)
    if file.exists():
        _used = file
        return f"-XX:SharedArchiveFile={file} {_quiet(java)}"
    once = file.with_suffix(".once")
    if not once.exists():
        _note = once
        return ""
    if not _claim(file.with_suffix(".making")):
        return ""
    fresh = file.with_suffix(f".{uuid.uuid4().hex[:8]}.new")
    _note = fresh.with_suffix(".whole")
    return f"-XX:ArchiveClassesAtExit={fresh} {_quiet(java)}"


def _claim(mark: Path) -> bool:
    """Whether this process is the one that makes the archive. If nothing comes of it, another one may after a while."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _quiet(java: Path) -> str:
    """What keeps Java from saying anything about archives."""
    return "-Xlog:cds*=off,aot*=off" if (version_of(java) or 0) >= RENAMED else "-Xlog:cds*=off"


def _is_unwanted() -> bool:
    said = " ".join(os.environ.get(name, "") for name in OTHERS)
    off = os.environ.get(VARIABLE, "").lower() in ("off", "0", "no", "false")
    return off or any(word in said for word in CONFLICTS)


def _folder() -> Path:
    said = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(said) if Path(said).is_absolute() else Path.home() / ".cache") / "headrace" / "java"


def _fingerprint(java: Path, spark_home: Path, options: str) -> str:
    """Of all that an archive must fit. Java looks at it once more, and leaves alone what does not fit."""
    places = (java, java.parents[1] / "lib" / "modules", spark_home / "jars")
    marks = [f"{place} {place.stat().st_mtime_ns}" for place in places]
    return hashlib.sha256(" ".join([*marks, options]).encode()).hexdigest()[:16]


def _adopt(file: Path) -> None:
    """Give its name to an archive that a run has left, and clear up what others have left."""
    folder = file.parent
    for fresh in folder.glob(f"{file.stem}.*.new"):
        mark = fresh.with_suffix(".whole")
        if mark.exists() and _is_finished(fresh):
            _drop(folder, "*.jsa", OLD)
            fresh.replace(file)
            mark.unlink()
            file.with_suffix(".making").unlink(missing_ok=True)
            break
    for pattern in ("*.new", "*.whole", "*.making"):
        _drop(folder, pattern, UNFINISHED)


def _is_finished(file: Path) -> bool:
    """Java writes the beginning last."""
    with file.open("rb") as content:
        return any(content.read(4))


def _drop(folder: Path, pattern: str, age: float) -> None:
    for file in folder.glob(pattern):
        if time.time() - file.stat().st_mtime > age:
            file.unlink(missing_ok=True)
