"""What the driver tells the planner and the tasks, in other processes: a small file, replaced at each commit."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

import msgspec

from headrace.disk import temporary_room
from headrace.errors import LogError
from headrace.spark.commit import CommitRecord, decode, encode


class Progress(msgspec.Struct, frozen=True):
    """The newest commit, and what is wanted of the planner."""

    base: CommitRecord
    paused: bool = False
    stopping: bool = False
    ahead: CommitRecord | None = None
    """The commit that is being published: the next batch may be built on it, if it waits for it in the end."""
    busy: bool = False
    """Whether the last batch was much work, so that the next one is better divided."""
    hurry: bool = False
    """Somebody waits for the end of what is there: do not wait for the commit interval."""
    until: dict[str, list[int]] | None = None
    """Topic -> where to stop reading, by partition; None to go on for ever."""


class ProgressFile:
    """Written by the driver, read by the planner; both on one machine."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._ack = self.path.with_suffix(".idle")
        self._failed = self.path.with_suffix(".failed")
        self._wide = self.path.with_suffix(".wide")
        self._void = self.path.with_suffix(".void")
        self.parcels = self.path.with_suffix(".parcels")
        """The folder for large messages between processes of one host."""
        self._written = 0
        self._seen: tuple[int, int] | None = None
        self._progress: Progress | None = None

    def write(self, progress: Progress) -> None:
        """Replace the file in one step."""
        fresh = self.path.with_suffix(".new")
        content = encode(progress)
        with temporary_room(
            self.path.parent, f"what a run notes at each commit needs {len(content):,} bytes"
        ):
            fresh.write_bytes(content)
            # Older kernels count in steps of milliseconds, and file systems give a number out again: by these two a
            # reader knows whether the file has changed, so no two contents may have both in common.
            self._written = max(time.time_ns(), self._written + 1)
            os.utime(fresh, ns=(self._written, self._written))
            fresh.replace(self.path)

    def read(self) -> Progress:
        """The newest content; cheap while the file has not changed."""
        status = self.path.stat()
        seen = (status.st_ino, status.st_mtime_ns)
        if self._progress is None or seen != self._seen:
            self._progress, self._seen = decode(self.path.read_bytes(), Progress), seen
        return self._progress

    def fail(self, failure: bytes) -> None:
        """The planner cannot go on, and says why, if there is room for it."""
        fresh = self.path.with_suffix(".failing")
        with contextlib.suppress(OSError):
            fresh.write_bytes(failure)
            fresh.replace(self._failed)

    def failure(self) -> bytes | None:
        """Why the planner could not go on."""
        return self._failed.read_bytes() if self._failed.exists() else None

    def shape(self, *, wide: bool) -> None:
        """The planner says whether the batch that it has planned takes the way through the stages."""
        if wide:
            with temporary_room(self.path.parent, "a batch needs some room for files of its own"):
                self._wide.touch()
        else:
            self._wide.unlink(missing_ok=True)

    def is_wide(self) -> bool:
        """What the planner said of the batch that runs now."""
        return self._wide.exists()

    def drop_parcels(self) -> None:
        """All messages of the batch have arrived."""
        shutil.rmtree(self.parcels, ignore_errors=True)

    def give_up(self) -> None:
        """The commit that was being published has failed: what is built on it is void."""
        with contextlib.suppress(OSError):  # on a full disk the query is ended all the same, a little later
            self._void.touch()

    def settled(self, number: int) -> CommitRecord:
        """Wait until the commit of this number is in the log; LogError when that will not happen."""
        parent = os.getppid()
        while (base := self.read().base).number < number:
            if self._void.exists() or os.getppid() != parent:
                raise LogError(f"commit {number} could not be published, and this batch is built on it")
            time.sleep(0.001)
        return base

    def acknowledge_stop(self) -> None:
        """The planner has seen `stopping`: no batch runs, and none will be planned."""
        self._ack.touch()

    def stop_acknowledged(self) -> bool:
        """Whether the planner will plan no more."""
        return self._ack.exists()
