"""Reading the stores of a cluster: they are on its hosts, so the driver keeps a copy that follows their changelogs.

Nothing is done before a store is asked for. The first time the copy is filled; after that every read first brings it to
the newest commit, with what has changed since. All stores and tasks are then as of one commit, as on one machine.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from headrace.app.reading import StoreReaders
from headrace.config import StreamsConfig
from headrace.errors import StoreError
from headrace.log import log_config, open_log
from headrace.log.base import TopicLog
from headrace.spark.changelogs import TaskChangelogs
from headrace.spark.commit import CommitRecord
from headrace.spark.layout import Layout
from headrace.state.local import LocalState
from headrace.topology.topology import Topology


class Replica:
    """A copy of all logged stores, beside the driver."""

    def __init__(
        self, topology: Topology, layout: Layout, config: StreamsConfig, commit: CommitRecord
    ) -> None:
        self.config = config
        self._newest = commit
        self._held: CommitRecord | None = None
        self._log: TopicLog | None = None
        self._lock = _Following(self)
        # Not where local stores are: an executor of this very host may have its own there.
        self.path = Path(config.data_dir).resolve() / "replica" / config.application_id
        self._readers = StoreReaders(topology, layout, config, self.path, self._lock)
        self._tasks = [
            TaskChangelogs(layout, placement, task_id, config)
            for placement in layout.placements
            if placement.sub.stores
            for task_id in placement.task_ids()
        ]
        self._states: list[LocalState] = []
        self._missing = {
            spec.name: "it has no changelog (`logging=False`)"
            for placement in layout.placements
            for spec in placement.sub.stores
            if not spec.logging and spec.changelog_topic is None
        }
        self._missing |= {node.store.name: "it is a global table" for node in topology.global_stores}

    def committed(self, commit: CommitRecord) -> None:
        """A batch is in the log; the next read sees it."""
        self._newest = commit

    def store(self, name: str) -> Any:
        """The store as one, over all tasks."""
        if name in self._missing:
            raise StoreError(
                f"store `{name}` is on the hosts of the cluster, and {self._missing[name]}, so there is no copy of it "
                "beside the driver: write what you need from it to a topic, or run on one machine"
            )
        found = self._readers.store(name)
        with self._lock:  # the first time, this is a restore
            return found

    def follow(self) -> None:
        """Bring the copy to the newest commit. Called under the lock."""
        newest = self._newest
        if self._held is newest:
            return
        if self._log is None:
            self._log = open_log(log_config(self.config))
            self._states = [
                LocalState(self.path / str(task.id), task.placement.sub.stores) for task in self._tasks
            ]
        log = self._log
        for task, state in zip(self._tasks, self._states, strict=True):
            state.prepare(task.accepted(newest), task.reading(lambda: log))
        self._held = newest
        self._readers.renew()

    def close(self) -> None:
        """Close the copy; the files stay, and a later one goes on from them."""
        with self._lock.plain:
            for state in self._states:
                state.close()
            self._lock.closed = True
            self._readers.close()
            if self._log is not None:
                self._log.close()
            self._log, self._states = None, []


class _Following:
    """A lock; whoever gets it finds the copy at the newest commit."""

    def __init__(self, replica: Replica) -> None:
        self.plain = threading.RLock()
        self.closed = False
        self._replica = replica
        self._inside = 0

    def __enter__(self) -> None:
        self.plain.acquire()
        self._inside += 1
        if self._inside == 1 and not self.closed:
            try:
                self._replica.follow()
            except BaseException:
                self._leave()
                raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        self._inside -= 1
        self.plain.release()
