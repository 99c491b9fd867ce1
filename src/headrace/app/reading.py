"""Reading stores while the application runs: committed state only, every task as of the same commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from heapq import merge
from pathlib import Path
from typing import Any, TypeAlias

from headrace.config import StreamsConfig
from headrace.errors import StoreError
from headrace.resolve import store_serdes
from headrace.spark.commit import CommitRecord
from headrace.spark.globals import global_path
from headrace.spark.layout import Layout
from headrace.state.factory import open_view
from headrace.state.reader import LocalReader
from headrace.topology.stores import StoreSpec
from headrace.topology.topology import Topology

Lock: TypeAlias = AbstractContextManager[Any]


class StoreReaders:
    """The local stores of all tasks, read from the driver; renewed together between a commit and the next batch."""

    def __init__(
        self,
        topology: Topology,
        layout: Layout,
        config: StreamsConfig,
        path: Path | None = None,
        lock: Lock | None = None,
    ) -> None:
        self.config = config
        path = path or config.state_path
        self._lock = lock or threading.RLock()
        self._specs: dict[str, tuple[StoreSpec, list[LocalReader]]] = {}
        self._readers: list[LocalReader] = []
        for placement in layout.placements:
            if placement.sub.stores:
                readers = [
                    LocalReader(path / str(task), placement.sub.stores) for task in placement.task_ids()
                ]
                self._readers += readers
                for spec in placement.sub.stores:
                    self._specs[spec.name] = (spec, readers)
        for node in topology.global_stores:
            reader = LocalReader(global_path(path, node.store.name), [node.store])
            self._readers.append(reader)
            self._specs[node.store.name] = (node.store, [reader])

    def committed(self, commit: CommitRecord, tables: Mapping[str, list[int]]) -> None:
        """A batch is in the log, and the next one is not planned yet: what is on disk now is what it says."""
        self.renew()

    def renew(self) -> None:
        """Move every reader to what is on disk now."""
        with self._lock:
            for reader in self._readers:
                reader.renew()

    def store(self, name: str) -> Any:
        """The store as one, over all tasks."""
        if name not in self._specs:
            known = ", ".join(f"`{other}`" for other in sorted(self._specs)) or "none"
            raise StoreError(f"there is no store `{name}`; this application has: {known}")
        spec, readers = self._specs[name]
        full = store_serdes(spec, self.config)
        key, value = full.key, full.value
        assert key is not None
        assert value is not None
        views = [open_view(spec, reader.backend(name), key=key, value=value) for reader in readers]
        if spec.kind == "custom":
            return tuple(views)
        if spec.kind in ("key_value", "timestamped_key_value"):
            return KeyValueReads(views, key.serialize, self._lock)
        if spec.kind == "versioned":
            return VersionedReads(views, self._lock)
        return SessionReads(views, self._lock) if spec.kind == "session" else WindowReads(views, self._lock)

    def close(self) -> None:
        with self._lock:
            for reader in self._readers:
                reader.close()


class _Reads:
    """What the parts of a store have in common."""

    def __init__(self, views: list[Any], lock: Lock) -> None:
        self._views = views
        self._lock = lock

    def _first(self, read: Callable[[Any], Any]) -> Any:
        """The answer of the task that has one: a key is kept by one task only."""
        with self._lock:
            for view in self._views:
                found = read(view)
                if found is not None:
                    return found
        return None

    def _rows(self, read: Callable[[Any], Iterator[Any]]) -> list[list[Any]]:
        """All rows of every task, read in one go so that they are of one commit."""
        with self._lock:
            return [list(read(view)) for view in self._views]

    def _chained(self, read: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
        """The rows of one task after those of another."""
        return (row for rows in self._rows(read) for row in rows)


class KeyValueReads(_Reads):
    """A key-value store over all tasks; ranges come in the order of the keys' bytes."""

    def __init__(self, views: list[Any], serialize: Callable[[Any], bytes], lock: Lock) -> None:
        super().__init__(views, lock)
        self._serialize = serialize

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        return self._first(lambda view: view.get(key))

    def range(self, low: Any = None, high: Any = None) -> Iterator[tuple[Any, Any]]:
        """Entries from `low` to `high`, both included; None for no bound."""
        return self._merged(lambda view: view.range(low, high))

    def reverse_range(self, low: Any = None, high: Any = None) -> Iterator[tuple[Any, Any]]:
        """The same, from the end."""
        return self._merged(lambda view: view.reverse_range(low, high), reverse=True)

    def all(self) -> Iterator[tuple[Any, Any]]:
        """Every entry."""
        return self._merged(lambda view: view.all())

    def reverse_all(self) -> Iterator[tuple[Any, Any]]:
        """Every entry, from the end."""
        return self._merged(lambda view: view.reverse_all(), reverse=True)

    def prefix_scan(self, prefix: Any, serde: Any = None) -> Iterator[tuple[Any, Any]]:
        """Entries whose key begins with the prefix's bytes."""
        return self._merged(lambda view: view.prefix_scan(prefix, serde))

    def approximate_num_entries(self) -> int:
        """About how many entries there are."""
        with self._lock:
            return sum(view.approximate_num_entries() for view in self._views)

    def _merged(
        self, read: Callable[[Any], Iterator[Any]], reverse: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        return merge(*self._rows(read), key=lambda row: self._serialize(row[0]), reverse=reverse)


class VersionedReads(_Reads):
    """A versioned store over all tasks."""

    def get(self, key: Any, as_of: int | None = None) -> Any:
        """The latest version of a key, or the one that was valid at a time; None when there was none."""
        return self._first(lambda view: view.get(key, as_of))


class WindowReads(_Reads):
    """A window store over all tasks."""

    def fetch(self, key: Any, *times: int) -> Any:
        """One window's value (`fetch(key, start)`), or (start, value) of a key's windows in a range of time."""
        if len(times) == 1:
            return self._first(lambda view: view.fetch(key, *times))
        return self._chained(lambda view: view.fetch(key, *times))

    def backward_fetch(self, key: Any, time_from: int, time_to: int) -> Iterator[Any]:
        """A key's windows in a range of time, newest first."""
        return self._chained(lambda view: view.backward_fetch(key, time_from, time_to))

    def fetch_range(self, key_from: Any, key_to: Any, time_from: int, time_to: int) -> Iterator[Any]:
        """The windows of a range of keys in a range of time."""
        return self._chained(lambda view: view.fetch_range(key_from, key_to, time_from, time_to))

    def backward_fetch_range(self, key_from: Any, key_to: Any, time_from: int, time_to: int) -> Iterator[Any]:
        """The same, backwards in each task."""
        return self._chained(lambda view: view.backward_fetch_range(key_from, key_to, time_from, time_to))

    def fetch_all(self, time_from: int, time_to: int) -> Iterator[Any]:
        """Every key's windows in a range of time."""
        return self._chained(lambda view: view.fetch_all(time_from, time_to))

    def backward_fetch_all(self, time_from: int, time_to: int) -> Iterator[Any]:
        """The same, backwards in each task."""
        return self._chained(lambda view: view.backward_fetch_all(time_from, time_to))

    def all(self) -> Iterator[Any]:
        """Every window."""
        return self._chained(lambda view: view.all())

    def backward_all(self) -> Iterator[Any]:
        """Every window, newest first in each task."""
        return self._chained(lambda view: view.backward_all())


class SessionReads(_Reads):
    """A session store over all tasks."""

    def fetch(self, key: Any) -> Iterator[Any]:
        """The sessions of a key."""
        return self._chained(lambda view: view.fetch(key))

    def backward_fetch(self, key: Any) -> Iterator[Any]:
        """The sessions of a key, newest first."""
        return self._chained(lambda view: view.backward_fetch(key))

    def fetch_range(self, key_from: Any, key_to: Any) -> Iterator[Any]:
        """The sessions of a range of keys; None for no bound."""
        return self._chained(lambda view: view.fetch_range(key_from, key_to))

    def backward_fetch_range(self, key_from: Any, key_to: Any) -> Iterator[Any]:
        """The same, backwards in each task."""
        return self._chained(lambda view: view.backward_fetch_range(key_from, key_to))

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        """The value of one session."""
        return self._first(lambda view: view.fetch_session(key, start, end))

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Iterator[Any]:
        """The sessions of a key that overlap a range of time."""
        return self._chained(lambda view: view.find_sessions(key, earliest_end, latest_start))

    def backward_find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Iterator[Any]:
        """The same, newest first."""
        return self._chained(lambda view: view.backward_find_sessions(key, earliest_end, latest_start))

    def find_sessions_range(
        self, key_from: Any, key_to: Any, earliest_end: int, latest_start: int
    ) -> Iterator[Any]:
        """The sessions of a range of keys that overlap a range of time."""
        return self._chained(
            lambda view: view.find_sessions_range(key_from, key_to, earliest_end, latest_start)
        )

    def backward_find_sessions_range(
        self, key_from: Any, key_to: Any, earliest_end: int, latest_start: int
    ) -> Iterator[Any]:
        """The same, backwards in each task."""
        return self._chained(
            lambda view: view.backward_find_sessions_range(key_from, key_to, earliest_end, latest_start)
        )

    def all(self) -> Iterator[Any]:
        """Every session."""
        return self.fetch_range(None, None)
