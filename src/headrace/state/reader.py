"""Reading a task's local stores from another process (or the same): committed state only, no overlay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from headrace.errors import StoreError
from headrace.serdes.base import Serde
from headrace.state import sharing
from headrace.state.backend import Entry, Marks
from headrace.state.copies import HELD, META
from headrace.state.disk import store_database
from headrace.state.environment import Environment
from headrace.state.factory import StoreView, open_view
from headrace.state.stamps import Stamp, decode_held
from headrace.state.table import Table
from headrace.topology.stores import StoreSpec


class TableBackend:
    """A store on disk as of one read transaction; empty while there is none."""

    __slots__ = ("marks", "table")

    def __init__(self, table: Table) -> None:
        self.table = table
        self.marks = Marks()

    def get(self, key: bytes, /) -> bytes | None:
        """The value of a key."""
        return self.table.get(key) if self.table.is_there() else None

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[Entry]:
        """The entries with low <= key < high."""
        return self.table.range(low, high, reverse) if self.table.is_there() else iter(())

    def first(self, low: bytes, high: bytes) -> bytes | None:
        """The lowest key with low <= key < high."""
        return next((key for key, _ in self.range(low, high)), None)

    def count(self) -> int:
        """About how many entries there are."""
        return self.table.count() if self.table.is_there() else 0


class LocalReader:
    """Reads the stores of one task as of the last `renew`. It never writes, and never blocks the writer.

    The files may hold a commit that the log has not accepted yet: renew between a commit that was published and the
    next batch, or compare `stamp`. Use it from one thread at a time.
    """

    def __init__(self, path: Path, stores: Sequence[StoreSpec]) -> None:
        self.path = path
        self.stamp: Stamp | None = None
        """The commit that is being read."""
        self._specs = {spec.name: spec for spec in stores}
        self._backends = {name: TableBackend(Table(name, self._bind, self._distrust)) for name in self._specs}
        self._environment: Environment | None = None
        self._txn: Any = None
        self._closed = False

    def renew(self) -> Stamp | None:
        """Read from the newest commit from now on; iterators made before end with a StoreError."""
        if self._closed:
            raise self._refuse()
        self.unbind()
        self._bind()
        return self.stamp

    def backend(self, name: str) -> TableBackend:
        """The bytes of a store."""
        try:
            return self._backends[name]
        except KeyError:
            known = ", ".join(f"`{other}`" for other in self._backends)
            raise StoreError(f"there is no store `{name}` in `{self.path}`, only {known}") from None

    def store(self, name: str, *, key: Serde[Any], value: Serde[Any], timestamps: bool = False) -> StoreView:
        """A typed view of a store; it follows `renew`."""
        return open_view(self._specs[name], self.backend(name), key=key, value=value, timestamps=timestamps)

    def unbind(self) -> None:
        """End the read transaction."""
        for backend in self._backends.values():
            backend.table.txn = None
        if self._txn is not None:
            self._txn.abort()
            self._txn = None

    def close(self) -> None:
        """End the reading; the views give StoreError from now on."""
        self._closed = True
        self.unbind()
        self._release()

    def _bind(self) -> None:
        if self._closed:
            raise self._refuse()
        if self._environment is not None and not self._environment.is_current:
            self._release()
        if self._environment is None:
            if not (self.path / "data.mdb").exists():
                return
            self._environment = sharing.acquire(self.path, self, reading=True)
        names = {name: store_database(name) for name in self._backends}
        databases = self._environment.databases([META, *names.values()], create=False)
        self._txn = self._environment.read()
        meta = databases.get(META)
        self.stamp = decode_held(None if meta is None else self._txn.get(HELD, None, meta)).stamp
        for name, backend in self._backends.items():
            backend.table.db = databases.get(names[name])
            backend.table.txn = self._txn
            if backend.table.db is not None:
                backend.marks.take(backend.table.read_marks())

    def _distrust(self, error: Exception) -> StoreError:
        return StoreError(
            f"the stores in `{self.path}` are damaged ({error}): they are rebuilt by their task"
        )

    def _release(self) -> None:
        if self._environment is not None:
            sharing.release(self._environment, self)
            self._environment = None

    def _refuse(self) -> StoreError:
        return StoreError(f"the reader of `{self.path}` is closed")
