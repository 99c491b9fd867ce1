"""An application that does not run: its log, and its last commit, held so that nobody starts it meanwhile."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headrace.config import StreamsConfig
from headrace.errors import AlreadyRunningError
from headrace.log import existing_log
from headrace.log.base import Publisher, TopicLog
from headrace.spark.commit import CommitRecord, decode
from headrace.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a command needs of a stopped application."""

    topology: Topology
    config: StreamsConfig
    log: TopicLog
    commit: CommitRecord | None
    """The last one; None if it has never committed anything."""
    held: Publisher | None
    """The right to write for it; None where it is only looked at."""

    @property
    def publisher(self) -> Publisher:
        """The right to write for it."""
        assert self.held is not None, "it was opened to be looked at"
        return self.held


@contextmanager
def stopped(topology: Topology, config: StreamsConfig, *, only_look: bool = False) -> Iterator[Stopped]:
    """Open an application's log, and hold the application. To only look at it, it may run."""
    log = existing_log(config)
    try:
        publisher = None if only_look else _hold(log, config.application_id)
        try:
            record = log.committed(config.application_id)
            commit = None if record is None else decode(record, CommitRecord)
            yield Stopped(topology, config, log, commit, publisher)
        finally:
            if publisher is not None:
                publisher.close()
    finally:
        log.close()


def local_folders(config: StreamsConfig) -> tuple[Path, ...]:
    """What this host keeps of an application: its stores, and warm copies that no live standby has."""
    found = [config.state_path] if config.state_path.exists() else []
    for folder in sorted(config.standby_path.glob("[0-9]*")):
        try:
            with (folder / "lock").open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # it will see for itself that they are worth nothing
        found.append(folder)
    return tuple(found)


def _hold(log: TopicLog, application_id: str) -> Publisher:
    try:
        return log.publisher(application_id)
    except AlreadyRunningError as error:
        who = error.message.partition("; ")[0]
        raise AlreadyRunningError(f"{who}; stop it first") from error
