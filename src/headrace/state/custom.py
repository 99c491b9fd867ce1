"""Stores of the user's own, over the same bytes as all others: logged, committed, rolled back and rebuilt like them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from headrace.errors import CallbackError, HeadraceError, InvalidArgumentError, StoreError
from headrace.origin import raised_at
from headrace.record import TaskId
from headrace.state.backend import Backend, Entry, NoBackend, ReadBackend, after
from headrace.state.base import Changelog
from headrace.store import StateStore
from headrace.topology.stores import StoreSpec

NOWHERE = TaskId(-1, -1)


class LoggedRows:
    """Implements `Rows` over a backend."""

    __slots__ = ("_backend", "_log", "_name", "_now", "refusal")

    def __init__(
        self, name: str, backend: Backend, changelog: Changelog | None, now: Callable[[], int]
    ) -> None:
        self._name = name
        self._backend = backend
        self._log = changelog
        self._now = now
        self.refusal: str | None = None
        """Why nothing may be written now."""

    def get(self, key: bytes) -> bytes | None:
        return self._backend.get(self._checked(key, "key"))

    def put(self, key: bytes, value: bytes | None, *, timestamp: int | None = None) -> None:
        if self.refusal is not None:
            raise StoreError(self.refusal)
        self._checked(key, "key")
        if value is None:
            self._backend.delete(key)
        else:
            self._backend.put(key, self._checked(value, "value"))
        if self._log is not None:
            self._log(key, value, self._now() if timestamp is None else timestamp)

    def delete(self, key: bytes) -> None:
        self.put(key, None)

    def range(
        self, low: bytes | None = None, high: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        for bound in (low, high):
            if bound is not None:
                self._checked(bound, "key")
        return self._backend.range(low, high, reverse)

    def prefix(self, prefix: bytes, *, reverse: bool = False) -> Iterator[Entry]:
        return self._backend.range(self._checked(prefix, "key"), after(prefix), reverse)

    def count(self) -> int:
        return self._backend.count()

    def close(self, reason: str) -> None:
        self._backend = NoBackend(reason)

    def _checked(self, given: Any, part: str) -> bytes:
        if not isinstance(given, bytes):
            raise StoreError(
                f"store `{self._name}`: a {part} of its rows must be bytes, got {given!r} of type "
                f"`{type(given).__name__}`: serialize it first"
            )
        return given


class StoreContext:
    """Implements `StateStoreContext` for one store of one task."""

    __slots__ = ("_state_dir", "application_id", "rows", "task_id")

    def __init__(self, application_id: str, task_id: TaskId, state_dir: Path, rows: LoggedRows) -> None:
        self.application_id = application_id
        self.task_id = task_id
        self.rows = rows
        self._state_dir = state_dir

    @property
    def state_dir(self) -> Path:
        self._state_dir.mkdir(parents=True, exist_ok=True)
        return self._state_dir


class CustomStore:
    """The place of a user's store in a task. `store` is the user's own object, a new one for each life of the task."""

    def __init__(
        self,
        spec: StoreSpec,
        backend: Backend,
        changelog: Changelog | None,
        now: Callable[[], int],
    ) -> None:
        self.name = spec.name
        self.is_open = True
        self.store: StateStore | None = None
        self._spec = spec
        self._backend = backend
        self._changelog = changelog
        self._now = now
        self._rows: LoggedRows | None = None

    def begin(self, application_id: str, task_id: TaskId, state_dir: Path) -> StateStore:
        """A new store, as the rows say."""
        rows = LoggedRows(self.name, self._backend, self._changelog, self._now)
        store = make_store(self._spec, StoreContext(application_id, task_id, state_dir, rows))
        self.store, self._rows = store, rows
        return store

    def refuse_writes(self, reason: str | None) -> None:
        """From now on, a write says this; None allows them again."""
        if self._rows is not None:
            self._rows.refusal = reason

    def flush(self) -> None:
        """Let the store put into its rows what it has held back."""
        if self.store is not None:
            _call(self._spec, self.store, "flush")

    def close(self) -> None:
        """End the store's life; every later use of its rows raises StoreError."""
        if not self.is_open:
            return
        self.is_open = False
        try:
            if self.store is not None:
                _call(self._spec, self.store, "close")
        finally:
            if self._rows is not None:
                self._rows.close(
                    f"store `{self.name}` is closed: it lives as long as its task or driver; "
                    "get it again from the context, or ask before closing"
                )


def make_store(spec: StoreSpec, context: StoreContext) -> StateStore:
    """A user's store, initialised and filled from its rows."""
    assert spec.supplier is not None
    try:
        store = spec.supplier()
    except Exception as error:
        raise _failed(spec, "its supplier", error) from error
    if not isinstance(store, StateStore):
        raise InvalidArgumentError(
            f"the supplier of the store `{spec.name}` must return a `StateStore`, got {store!r}: pass the class, or a "
            "function that makes a new one",
            node=spec.name,
            origin=spec.origin,
        )
    _call(spec, store, "init", context)
    _call(spec, store, "restore", context.rows.range())
    return store


def view_store(spec: StoreSpec, backend: ReadBackend) -> StateStore:
    """A user's store to be read only, over what is committed."""
    rows = LoggedRows(spec.name, cast("Backend", backend), None, lambda: 0)
    rows.refusal = (
        f"the store `{spec.name}` is read from outside of its task, where it cannot be written: send a record to a "
        "topic that its processor reads"
    )
    return make_store(spec, StoreContext("", NOWHERE, Path(), rows))


def _call(spec: StoreSpec, store: StateStore, method: str, *args: Any) -> None:
    try:
        getattr(store, method)(*args)
    except HeadraceError:
        raise
    except Exception as error:
        raise _failed(spec, f"`{type(store).__name__}.{method}`", error) from error


def _failed(spec: StoreSpec, what: str, error: Exception) -> CallbackError:
    return CallbackError(
        f"store `{spec.name}`: {what} raised {type(error).__name__}: {error}", origin=raised_at(error)
    )
