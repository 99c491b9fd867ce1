"""The temporary files of a run: on a disk without room, and after a run that was killed."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from py4j.protocol import Py4JError

from headrace.errors import DiskFullError
from headrace.spark.commit import CommitRecord
from headrace.spark.failure import pack_failure, unpack_failure
from headrace.spark.full_disk import says_no_room, spark_room
from headrace.spark.progress import Progress, ProgressFile
from headrace.spark.rows import LARGE, pack, records
from headrace.spark.run_folder import YOUNG, RunFolder, clear_up


def in_a_process(text: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )


def line_of(process: subprocess.Popen[str]) -> Path:
    """The path that a process tells."""
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


CROWDED = """
import sys
from tests.unit.test_temporary_files import crowded
crowded(sys.argv[1])
"""


def crowded(folder: str) -> None:
    """A large message, and a note of the driver's, with no room on the disk as far as this process may write."""
    file = ProgressFile(Path(folder) / "progress.json")
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, resource.RLIM_INFINITY))
    for what in (
        lambda: pack(records([b"k"], [b"v" * LARGE], [0]), folder),
        lambda: file.write(Progress(CommitRecord("incarnation", 1, 0, {"in": [0] * 100}))),
    ):
        try:
            what()
        except DiskFullError as error:
            print(error, flush=True)
            packed = pack_failure(error)
            file.fail(packed)
            # It crosses from a worker to the driver as what it is, but not through a file for which there is no room.
            print(type(unpack_failure(packed)).__name__, file.failure(), flush=True)


def test_a_full_disk_under_large_messages_and_notes_is_told(tmp_path: Path) -> None:
    process = in_a_process(CROWDED, tmp_path)
    told = process.communicate()[0].splitlines()
    assert process.returncode == 0
    assert told[1::2] == ["DiskFullError None"] * 2
    wants = "a message of this batch needs about 65,", "what a run notes at each commit needs"
    for line, needs in zip(told[::2], wants, strict=True):
        assert line.startswith(f"the disk under `{tmp_path}` is full: {needs}")
        assert "bytes are free; make room and start again, or set the environment variable `TMPDIR`" in line
        assert line.endswith("the last commit is intact, and nothing is lost")


def test_a_full_disk_under_sparks_own_files_is_told(tmp_path: Path) -> None:
    text = f"Job aborted due to stage failure\n\tat org…\nCaused by: java.io.IOException: {os.strerror(errno.ENOSPC)}\n"
    setting = {"spark.local.dir": str(tmp_path)}.get
    with pytest.raises(DiskFullError) as told, spark_room(setting, one_host=True):
        raise Py4JError(text)
    where = f"its temporary files are in `{tmp_path}` ("
    assert f"a disk to which Spark writes is full (No space left on device): {where}" in str(told.value)
    assert "`--conf spark.local.dir=…`" in str(told.value)
    with pytest.raises(Py4JError), spark_room(setting, one_host=True):
        raise Py4JError("something else")
    assert says_no_room(f"Caused by: {os.strerror(errno.EIO)}") is None


HOLD = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from headrace.spark.run_folder import RunFolder
folder = RunFolder()
(folder.path / "progress.json").write_text("{}")
print(folder.path, flush=True)
sys.stdin.read()
"""


def test_the_next_start_clears_away_what_a_killed_run_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, alive = in_a_process(HOLD, tmp_path), in_a_process(HOLD, tmp_path)
    try:
        left, kept = line_of(killed), line_of(alive)
        mine = RunFolder()
        assert left.is_dir()
        assert kept.is_dir()
        killed.kill()
        killed.wait()
        again = RunFolder()
        assert not left.exists()
        assert sorted(tmp_path.iterdir()) == sorted([kept, mine.path, again.path])
        for folder in (mine, again):
            folder.remove()
        assert list(tmp_path.iterdir()) == [kept]
    finally:
        for process in (killed, alive):
            process.kill()
            process.communicate()


def test_folders_that_are_not_certainly_ours_and_left_stay(tmp_path: Path) -> None:
    def folder(name: str, *, lock: bool, age: float = 10 * YOUNG) -> Path:
        made = tmp_path / name
        made.mkdir()
        if lock:
            (made / "lock").touch()
        then = time.time() - age
        os.utime(made, (then, then))
        return made

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (tmp_path / "headrace-run-link").symlink_to(elsewhere)
    unlike = folder("other-run-1", lock=True)
    being_made = folder("headrace-run-young", lock=False, age=0)
    of_somebody = folder("headrace-run-files", lock=False)
    (of_somebody / "thing").touch()
    then = time.time() - 10 * YOUNG
    os.utime(of_somebody, (then, then))
    stays = {elsewhere, tmp_path / "headrace-run-link", unlike, being_made, of_somebody}
    if os.getuid() == 0:
        others = folder("headrace-run-others", lock=True)
        os.chown(others, 12345, 12345)
        stays.add(others)
    gone = [folder("headrace-run-empty", lock=False), folder("headrace-run-left", lock=True)]
    assert clear_up(tmp_path) == sorted(gone)
    assert set(tmp_path.iterdir()) == stays
