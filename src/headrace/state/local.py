"""One task's stores on this host's disk: a cache of its changelogs that knows which commit it holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from headrace.errors import StoreError
from headrace.serdes import Serdes
from headrace.serdes.base import Serde
from headrace.state.base import Changelog, no_time
from headrace.state.copies import FindCopies, nowhere
from headrace.state.disk import Disk
from headrace.state.environment import MAP_SIZE
from headrace.state.factory import Store, open_store
from headrace.state.lmdb import LmdbBackend
from headrace.state.reader import LocalReader
from headrace.state.recovery import Recoverer, unwatched
from headrace.state.stamps import TASK_STORE, Accepted, Base, ReadChangelog, Recovery, Stamp, Watch
from headrace.topology.stores import StoreSpec

_TASK_SPEC = StoreSpec(TASK_STORE, "key_value", Serdes.bytes(), Serdes.bytes())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class LocalState:
    """The stores of one task, in an LMDB environment.

    A batch: `prepare` brings the stores to what the log says; the task reads and writes them; `changes` are the
    changelog records to publish; `commit` writes them to disk under a stamp. If the batch fails after that, the
    log never names the stamp, and the next `prepare` takes the commit back.
    """

    def __init__(
        self,
        path: Path,
        stores: Sequence[StoreSpec],
        *,
        stale_after: timedelta = timedelta(hours=12),
        clock: Callable[[], int] = _now_ms,
        map_size: int = MAP_SIZE,
        boot: str | None = None,
        copies: FindCopies = nowhere,
    ) -> None:
        self.path = path
        self._specs = {spec.name: spec for spec in (*stores, _TASK_SPEC)}
        self._disk = Disk(path, self._specs, map_size=map_size, boot=boot)
        self._pending: dict[str, dict[bytes, tuple[bytes | None, int]]] = {
            name: {} for name, spec in self._specs.items() if spec.logging and spec.changelog_topic is None
        }
        # Of a versioned store every put counts, of the others the last one of each key.
        self._every: dict[str, list[tuple[bytes, bytes | None, int]]] = {
            name: [] for name in self._pending if self._specs[name].kind == "versioned"
        }
        stale_after_ms = stale_after // timedelta(milliseconds=1)
        self._recoverer = Recoverer(self._disk, self._specs, clock, stale_after_ms, copies)
        self._open_stores: list[Store] = []
        self._closed = False

    @property
    def stamp(self) -> Stamp | None:
        """The commit that the stores hold."""
        return self._disk.held.stamp

    def backend(self, name: str) -> LmdbBackend:
        """The bytes of a store; what is put there directly is not in `changes`."""
        try:
            return self._disk.backends[name]
        except KeyError:
            known = ", ".join(f"`{other}`" for other in self._specs)
            raise StoreError(f"there is no store `{name}` in `{self.path}`, only {known}") from None

    def changelog(self, name: str) -> Changelog | None:
        """Collects a store's changes for `changes`; None for a store that is not logged."""
        pending = self._pending.get(name)
        if pending is None:
            return None
        if name in self._every:
            every = self._every[name]
            return lambda key, value, timestamp: every.append((key, value, timestamp))

        def log(key: bytes, value: bytes | None, timestamp: int) -> None:
            pending[key] = (value, timestamp)

        def log_in_order(key: bytes, value: bytes | None, timestamp: int) -> None:
            # A store that is filled from these records must know which key was written last.
            pending.pop(key, None)
            pending[key] = (value, timestamp)

        return log_in_order if self._specs[name].max_entries else log

    def store(
        self, name: str, *, key: Serde[Any], value: Serde[Any], now: Callable[[], int] = no_time
    ) -> Store:
        """A typed store, with its changelog connected."""
        backend = self.backend(name)
        store = open_store(self._specs[name], backend, self.changelog(name), key=key, value=value, now=now)
        self._open_stores.append(store)
        return store

    def put_memory(self, key: bytes, memory: bytes, timestamp: int = 0) -> None:
        """Keep what the task remembers beside its stores; read it with `backend(TASK_STORE).get(key)`."""
        self.backend(TASK_STORE).put(key, memory)
        self._pending[TASK_STORE][key] = (memory, timestamp)

    def holds(self, accepted: Accepted) -> bool:
        """Whether the stores are what the log says already; changes of this batch are dropped, as by `prepare`."""
        self.rollback()
        return self._recoverer.holds(accepted)

    def prepare(
        self, accepted: Accepted, read_changelog: ReadChangelog, watch: Watch = unwatched
    ) -> Recovery:
        """Bring the stores to what the log says is true, with as little work as possible."""
        if self._closed:
            raise StoreError(f"the stores in `{self.path}` are closed")
        self.rollback()
        return self._recoverer.recover(accepted, read_changelog, watch)

    def refresh(self) -> None:
        """Say that the stores were up to date now, also where nothing has changed; for whoever only follows a log."""
        self._recoverer.refresh()

    def changes(self) -> dict[str, list[tuple[bytes, bytes | None, int]]]:
        """The changelog records of this batch by store: (key, value, timestamp), the last of each key.

        Of a versioned store they are all there.
        """
        found = {
            name: [(key, value, timestamp) for key, (value, timestamp) in pending.items()]
            for name, pending in self._pending.items()
            if pending
        }
        found.update({name: list(every) for name, every in self._every.items() if every})
        return found

    def commit(self, stamp: Stamp, on: Accepted) -> bool:
        """Write this batch's changes under a stamp; False, and nothing written, when there are none.

        `on` is what `prepare` got: if the log never accepts the stamp, the stores can go back there. Raises
        StoreError when another attempt has written meanwhile, or the disk is full; the last commit is intact.
        """
        held = self._disk.held
        if on.stamp != held.stamp or held.filling:
            raise StoreError(
                f"the stores in `{self.path}` hold {held.stamp}, so a commit cannot be built on {on.stamp}: "
                "call `prepare` with it first"
            )
        if not self._disk.changed() and not any(self._pending.values()) and not any(self._every.values()):
            self.rollback()
            return False
        after = msgspec.structs.replace(self._recoverer.held(stamp), base=Base(on.stamp, dict(on.ends)))
        self._disk.write(after, undo=True)
        self._forget()
        return True

    def rollback(self) -> None:
        """Drop the changes of this batch."""
        self._disk.rollback()
        self._forget()

    def reader_check(self) -> None:
        """Free what readers that were killed held on to; also done when opening, and now and then."""
        self._disk.reader_check()

    def close(self) -> None:
        """Drop the changes of this batch, and close; the files are sealed as clean if nobody else uses them."""
        if self._closed:
            return
        self.rollback()
        self._closed = True
        self._disk.refuse(f"the stores in `{self.path}` are closed")
        for store in self._open_stores:
            store.close()
        self._disk.close()

    def _forget(self) -> None:
        for pending in self._pending.values():
            pending.clear()
        for every in self._every.values():
            every.clear()


__all__ = ["TASK_STORE", "Accepted", "LocalReader", "LocalState", "Recovery", "Stamp"]
