"""The files of one task's stores: an LMDB environment with a database per store, what it holds, and an undo record."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import lmdb
import msgspec

from headrace.errors import StoreError
from headrace.failpoints import failpoint
from headrace.state import sharing
from headrace.state.copies import HELD, META, copy_of
from headrace.state.environment import Environment
from headrace.state.lmdb import LmdbBackend
from headrace.state.stamps import Held, decode_held, encode_held
from headrace.state.table import DAMAGE, Table
from headrace.state.write import Undo, read_undo, sweep, take_back, write_changes, write_undo

_UNDO = "undo"
_CHECK_READERS_EVERY = 256


Writer: TypeAlias = Callable[[Any, Any], None]
"""Writes into the database of a store, in a transaction."""
NOTHING_MORE: Mapping[str, Writer] = {}


class OvertakenError(StoreError):
    """Another process has written the files since they were read: look again, then go on from there."""


class Disk:
    """Reads and writes the stores of one task. Every write first looks whether the files still hold what was read."""

    def __init__(self, path: Path, names: Mapping[str, object], *, map_size: int, boot: str | None) -> None:
        self.path = path
        self.backends = {name: LmdbBackend(Table(name, self.bind, self.distrust)) for name in names}
        self._names = [META, _UNDO, *map(store_database, names)]
        self.held = Held()
        self._raw: bytes | None = None
        self._txn: Any = None
        self._environment: Environment | None = None
        self._map_size = map_size
        self._boot = boot
        self._opened = 0
        self._refusal = f"the stores in `{path}` are not ready: call `prepare` first"

    def open(self) -> Held:
        """Open the files if need be, and read what they hold."""
        environment = self._require(opening=True)
        if environment.is_suspect:
            self.discard("something in it could not be right")
            environment = self._require()
        self._opened += 1
        if self._opened % _CHECK_READERS_EVERY == 0:
            environment.reader_check()
        self.unbind()
        self._raw = self._read_held()
        try:
            self.held = decode_held(self._raw)
        except msgspec.DecodeError:
            self.clear()
        return self.held

    def bind(self) -> None:
        """Begin a read transaction on what is held; all stores read from it."""
        environment = self._require()
        databases = environment.databases(self._names)
        txn = environment.read()
        if txn.get(HELD, None, databases[META]) != self._raw:
            txn.abort()
            raise self._overtaken()
        self._txn = txn
        for name, backend in self.backends.items():
            backend.table.txn, backend.table.db = txn, databases[store_database(name)]

    def unbind(self) -> None:
        """End the read transaction; the next read begins another."""
        for backend in self.backends.values():
            backend.table.txn = None
        if self._txn is not None:
            self._txn.abort()
            self._txn = None

    def rollback(self) -> None:
        """Drop the changes of this batch."""
        for backend in self.backends.values():
            backend.reset(backend.base_marks)
        self.unbind()

    def load_marks(self) -> None:
        """Take the marks from disk, after the held state has changed."""
        for backend in self.backends.values():
            backend.reset(backend.table.read_marks())

    def changed(self) -> bool:
        """Whether any store has changes."""
        return any(backend.changed() for backend in self.backends.values())

    def write(
        self, held: Held, *, undo: bool, more: Mapping[str, Writer] = NOTHING_MORE, need: int = 0
    ) -> None:
        """Write all changes and what is held now, in one transaction. With `undo`, it can be taken back; `more` is
        written into stores first, and cannot; `need` is about how many bytes it has.
        """

        def change(txn: Any, databases: dict[str, Any]) -> None:
            undone: dict[str, Undo] = {}
            for name, backend in self.backends.items():
                db = databases[store_database(name)]
                if name in more:
                    more[name](txn, db)
                if backend.changed():
                    changes = write_changes(txn, db, backend, undo=undo)
                    if changes is not None:
                        undone[name] = changes
                # An undo leads back to the floor of before; without one there is no way back.
                floor = (backend.base_marks if undo else backend.marks).floor
                sweep(txn, db, floor, 2 * len(backend.overlay))
            write_undo(txn, databases[_UNDO], undone)
            if undo:
                failpoint("local_commit.inside")

        self._transact(held, change, need=need)
        for backend in self.backends.values():
            backend.reset(backend.marks.copy())

    def undo(self) -> Held:
        """Take the last commit back: what is held then is its base."""
        base = self.held.base
        assert base is not None
        held = msgspec.structs.replace(self.held, stamp=base.stamp, ends=base.ends, base=None)

        def change(txn: Any, databases: dict[str, Any]) -> None:
            for name, entries in read_undo(txn, databases[_UNDO]).items():
                take_back(txn, databases[store_database(name)], entries)
            write_undo(txn, databases[_UNDO], {})
            failpoint("undo.inside")

        # The commit may have changed stores that are no longer part of the task.
        self._transact(held, change, self._require().names())
        failpoint("undo.after")
        return held

    def clear(self, names: set[str] | None = None) -> Held:
        """Empty the stores of these names (None: all), whether they are known here or left from another time."""

        def change(txn: Any, databases: dict[str, Any]) -> None:
            for name in found:
                txn.drop(databases[name], delete=False)
            write_undo(txn, databases[_UNDO], {})

        found = [name for name in self._require().names() if name not in (META, _UNDO)]
        if names is None:
            held = Held(ends={})
        else:
            kept = {name: layout for name, layout in self.held.layouts.items() if name not in names}
            ends = {name: end for name, end in (self.held.ends or {}).items() if name not in names}
            held = msgspec.structs.replace(self.held, layouts=kept, ends=ends, base=None)
            found = [name for name in found if name.removeprefix("s/") in names]
        self._transact(held, change, found)
        return held

    def discard(self, reason: object) -> None:
        """Throw the files away; the next use makes new ones."""
        self._require().discard(reason)

    def take_over(self, folder: Path) -> None:
        """Put a copy of the stores in another folder in the place of these."""
        aside = self.path.with_name(f"{self.path.name}.copy")
        try:
            self._require().replace(copy_of(folder, aside))
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def distrust(self, error: Exception) -> StoreError:
        """What to raise when LMDB finds something that cannot be right; the next `open` starts anew."""
        self._require().distrust()
        return StoreError(
            f"the stores in `{self.path}` are damaged ({error}): they are rebuilt when the batch is tried again"
        )

    def reader_check(self) -> None:
        """Free the places of readers that were killed."""
        self._require().reader_check()

    def close(self) -> None:
        """Give the environment back; if nobody else in this process uses it, it is closed cleanly."""
        self.unbind()
        if self._environment is not None:
            sharing.release(self._environment, self)
            self._environment = None

    def refuse(self, reason: str) -> None:
        """From now on, reads say this."""
        self._refusal = reason

    def _transact(
        self,
        held: Held,
        change: Callable[[Any, dict[str, Any]], None],
        others: Iterable[str] = (),
        need: int = 0,
    ) -> None:
        environment = self._require()
        self.unbind()
        raw = encode_held(held)
        while True:
            databases = environment.databases([*self._names, *others])
            try:
                with environment.write(lambda: need + self._size_of_changes()) as txn:
                    if txn.get(HELD, None, databases[META]) != self._raw:
                        raise self._overtaken()
                    change(txn, databases)
                    txn.put(HELD, raw, db=databases[META])
                break
            except lmdb.MapFullError:
                environment.grow()
            except DAMAGE as error:
                raise self.distrust(error) from error
        self.held, self._raw = held, raw

    def _size_of_changes(self) -> int:
        return sum(
            len(key) + len(value or b"")
            for backend in self.backends.values()
            for key, value in backend.overlay.items()
        )

    def _read_held(self) -> bytes | None:
        environment = self._require()
        meta = environment.databases([META])[META]
        txn = environment.read()
        try:
            raw: bytes | None = txn.get(HELD, None, meta)
            return raw
        finally:
            txn.abort()

    def _require(self, *, opening: bool = False) -> Environment:
        """The environment; opened anew after a fork, or when another process has begun anew."""
        if self._environment is None and not opening:
            raise StoreError(self._refusal)
        if self._environment is not None and not self._environment.is_current:
            self.close()
        if self._environment is None:
            self._environment = sharing.acquire(self.path, self, map_size=self._map_size, boot=self._boot)
        return self._environment

    def _overtaken(self) -> OvertakenError:
        return OvertakenError(
            f"another attempt of the same task has written the stores in `{self.path}` meanwhile: "
            "this one must start again with `prepare`"
        )


def store_database(name: str) -> str:
    """The name of a store's LMDB database."""
    return f"s/{name}"
