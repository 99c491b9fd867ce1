"""A standby: follows the changelogs of an application, and keeps a warm copy of all its stores on this host.

A start that finds its own stores lost, or far behind, takes the copy over and reads only what it lacks (see
`Recoverer`). A copy is always that of some commit, with the stamp that the log gave it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec

from headrace.config import StreamsConfig
from headrace.errors import BrokerNotReachableError, LogError, StartError, StoreError
from headrace.log.base import TopicLog, TopicPartition
from headrace.log.commits import commits_topic
from headrace.restore.progress import count
from headrace.restore.recorded import Recorded, newest_commit
from headrace.spark.changelogs import TaskChangelogs
from headrace.spark.commit import CommitRecord, encode
from headrace.state.local import LocalState

EVERY = 1.0
"""Seconds between two looks at the log."""
_REFRESH_SECONDS = 3600.0
_MOST = 100
_STATUS = "status.json"

logger = logging.getLogger("headrace")


class Status(msgspec.Struct, frozen=True):
    """How far a standby is."""

    application_id: str
    replica: int
    commit: int
    """The commit that all of its copies hold, or a newer one."""
    behind: int
    """How many commits the log is ahead."""
    tasks: int
    records: int
    """Changelog records that it has read since it began."""
    at: float
    """When that was so, in seconds since the epoch."""
    pid: int

    def __str__(self) -> str:
        lag = "up to date" if not self.behind else f"{count(self.behind, 'commit')} behind"
        return (
            f"standby {self.replica} of `{self.application_id}` is at commit {self.commit:,}, {lag}: "
            f"{count(self.tasks, 'task')}, {count(self.records, 'record')} read"
        )


class Replica:
    """A numbered folder for copies that belongs to one process at a time."""

    def __init__(self, folder: Path, number: int, lock: IO[bytes]) -> None:
        self.folder = folder
        self.number = number
        self._lock = lock

    @classmethod
    def claim(cls, path: Path) -> Replica:
        """The first folder below a path that no other process has."""
        for number in range(_MOST):
            folder = path / str(number)
            folder.mkdir(parents=True, exist_ok=True)
            lock = (folder / "lock").open("ab")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            return cls(folder, number, lock)
        raise StartError(f"there are {_MOST} standbys in `{path}` already")

    def release(self) -> None:
        """Another process may have it."""
        self._lock.close()


class Standby:
    """Keeps copies of all stores of one application in a folder of its own."""

    def __init__(self, recorded: Recorded, log: TopicLog) -> None:
        self.config: StreamsConfig = recorded.config
        self._log = log
        self._replica = Replica.claim(self.config.standby_path)
        self._tasks = recorded.tasks()
        self._task_count = recorded.base.task_count
        self._states: dict[str, LocalState] = {}
        self._records = 0
        self._commit = 0
        self._seen: CommitRecord | None = None
        self._known: tuple[int, CommitRecord] | None = None
        """The end of the commits topic, and the newest commit by then."""
        self.shutdown: str | None = None
        """Why the application was shut down as a whole, once it was while this one followed it."""
        self._refreshed = time.monotonic()
        self._forget_other_tasks()

    @property
    def folder(self) -> Path:
        """Where the copies are."""
        return self._replica.folder

    def follow(self) -> Status:
        """Bring all copies to the newest commit."""
        base = self._newest()
        if self._seen is not None and base.shutdown is not None and self._seen.shutdown is None:
            self.shutdown = base.shutdown
        if base.task_count != self._task_count:
            raise StartError(
                f"application `{self.config.application_id}` was rescaled, and has other tasks now: start the standby "
                "again"
            )
        if base.pending is not None:
            raise LogError(
                f"`headrace {base.pending.kind}` of application `{self.config.application_id}` has not come to its end"
            )
        refresh = time.monotonic() - self._refreshed >= _REFRESH_SECONDS
        if self._seen is None or _name(base) != _name(self._seen) or refresh:
            for task in self._tasks:
                self._follow(task, base, refresh=refresh)
            self._commit = base.number
            if refresh:
                self._refreshed = time.monotonic()
        self._seen = base
        status = self._status(self._newest().number - self._commit)
        self._write(status)
        return status

    def _newest(self) -> CommitRecord:
        """The newest commit; read only when its topic has got longer."""
        place = TopicPartition(commits_topic(self.config.application_id), 0)
        end = self._log.latest([place])[place]
        if self._known is None or end != self._known[0]:
            self._known = end, newest_commit(self._log, self.config.application_id)
        return self._known[1]

    def _follow(self, task: TaskChangelogs, base: CommitRecord, *, refresh: bool) -> None:
        accepted = task.accepted(base)
        if accepted.stamp is None:
            return  # it has never kept anything
        name = str(task.id)
        state = self._states.get(name)
        if state is None:
            state = LocalState(self.folder / name, task.placement.sub.stores)
            self._states[name] = state
        self._records += state.prepare(accepted, task.reading(lambda: self._log)).records
        if refresh:
            state.refresh()
        state.rollback()

    def _status(self, behind: int) -> Status:
        return Status(
            self.config.application_id,
            self._replica.number,
            self._commit,
            max(0, behind),
            len(self._states),
            self._records,
            time.time(),
            os.getpid(),
        )

    def _write(self, status: Status) -> None:
        fresh = self.folder / f"{_STATUS}.new"
        fresh.write_bytes(encode(status))
        fresh.replace(self.folder / _STATUS)

    def _forget_other_tasks(self) -> None:
        """Copies of tasks that another version of the topology had are of no use."""
        mine = {str(task.id) for task in self._tasks}
        for folder in self.folder.iterdir():
            if folder.is_dir() and folder.name not in mine:
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Close the copies, and let another process have them."""
        for state in self._states.values():
            state.close()
        self._states.clear()
        self._replica.release()


def _name(commit: CommitRecord) -> tuple[str, int]:
    """After a reset, numbers begin again."""
    return commit.incarnation, commit.number


def keep_following(
    standby: Standby,
    ending: threading.Event,
    show: Callable[[Status], None],
    *,
    until_caught_up: bool = False,
) -> None:
    """Follow until somebody sets `ending`. A log that does not answer for a while is asked again."""
    while not ending.is_set():
        try:
            status = standby.follow()
        except (LogError, BrokerNotReachableError, StoreError) as error:
            if until_caught_up:
                raise
            logger.warning("the standby could not follow, and tries again: %s", error)
        else:
            show(status)
            if standby.shutdown is not None:
                logger.warning(
                    "the standby ends with its application, which was shut down: %s", standby.shutdown
                )
                return
            if until_caught_up and not status.behind:
                return
        ending.wait(EVERY)


def statuses(config: StreamsConfig) -> list[Status]:
    """What the standbys of this host have said last, also those that have ended."""
    found = []
    for file in sorted(config.standby_path.glob(f"[0-9]*/{_STATUS}")):
        try:
            found.append(msgspec.json.decode(file.read_bytes(), type=Status))
        except (OSError, msgspec.DecodeError):
            continue
    return found
