"""Reading the stores of a cluster: they are on its hosts, so the driver keeps a copy that follows their changelogs.

Nothing is done before a store is asked for. The first time the copy is filled; after that every read first brings it to
the newest commit, with what has changed since. All stores and tasks are then as of one commit, as on one machine.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from headrace.app.reading import StoreReaders
from headrace.config import StreamsConfig
from headrace.errors import StoreError
from headrace.spark.changelogs import TaskChangelogs
from headrace.spark.commit import CommitRecord
from headrace.spark.runtime import Runtime
from headrace.spark.ship import Shipment
from headrace.state.local import LocalState
from headrace.topology.topology import Topology


class Replica:
    """A copy of all stores that have a changelog and of the global tables, beside the driver."""

    def __init__(
        self, topology: Topology, config: StreamsConfig, shipment: Shipment, commit: CommitRecord
    ) -> None:
        self._newest: tuple[CommitRecord, Mapping[str, list[int]]] = (commit, {})
        self._held: object = None
        # As in a worker; but not where its stores are: an executor of this very host may have its own there.
        self._runtime = Runtime(replace(shipment, topology=topology, config=config, channel=None))
        self._runtime.state_path = Path(config.data_dir).resolve() / "replica" / config.application_id
        self._lock = _Following(self)
        path, layout = self._runtime.state_path, self._runtime.layout
        self._readers = StoreReaders(topology, layout, config, path, self._lock)
        placed = [placement for placement in layout.placements if placement.sub.stores]
        self._tasks = [
            TaskChangelogs(layout, placement, task_id, config)
            for placement in placed
            for task_id in placement.task_ids()
        ]
        self._states: list[LocalState] = []
        specs = [spec for placement in placed for spec in placement.sub.stores]
        self._unlogged = {spec.name for spec in specs if not spec.logging and spec.changelog_topic is None}

    def committed(self, commit: CommitRecord, tables: Mapping[str, list[int]]) -> None:
        """A batch is in the log, which has read the global tables so far; the next read sees it."""
        self._newest = (commit, tables)

    def store(self, name: str) -> Any:
        """The store as one, over all tasks."""
        if name in self._unlogged:
            raise StoreError(
                f"store `{name}` is on the hosts of the cluster and has no changelog (`logging=False`), so there is no "
                "copy of it beside the driver: let it have one, or run on one machine"
            )
        found = self._readers.store(name)
        with self._lock:  # the first time, this is a restore
            return found

    def follow(self) -> None:
        """Bring the copy to the newest commit. Called under the lock."""
        newest = self._newest
        if self._held is newest:
            return
        runtime, (commit, tables) = self._runtime, newest
        if not self._states:
            self._states = [
                LocalState(runtime.state_path / str(task.id), task.placement.sub.stores)
                for task in self._tasks
            ]
        for task, state in zip(self._tasks, self._states, strict=True):
            state.prepare(task.accepted(commit), task.reading(lambda: runtime.log))
        runtime.global_tables.follow(tables, commit.topic_ids)
        self._held = newest
        self._readers.renew()

    def close(self) -> None:
        """Close the copy; the files stay, and a later one goes on from them."""
        with self._lock.plain:
            self._lock.closed = True
            for state in self._states:
                state.close()
            self._states = []
            self._readers.close()
            self._runtime.close()


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
