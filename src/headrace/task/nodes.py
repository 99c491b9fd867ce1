"""A node's place in a task: what `processors` is given to compile an operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from headrace.config import StreamsConfig
from headrace.errors import StoreError, StoreNotConnectedError, UnknownNodeError, UnknownStoreError
from headrace.origin import Origin, caller
from headrace.processors.context import Process, TaskContext
from headrace.record import Headers
from headrace.resolve import operator_serde
from headrace.serdes import Serde
from headrace.state import CustomStore
from headrace.task.failures import Failures
from headrace.task.lines import Line, Lines
from headrace.task.memory import Cell, Memory
from headrace.topology.nodes import ProcessorNode


class TaskNode:
    """Implements `NodeContext` for one processor node of one task."""

    def __init__(
        self,
        node: ProcessorNode,
        children: Mapping[str, Process],
        *,
        task: TaskContext,
        stores: Mapping[str, Any],
        global_stores: Mapping[str, Any],
        memory: Memory,
        failures: Failures,
        dropped: Counter[tuple[str, str]],
        starts: list[Callable[[], None]],
        batches: list[Callable[[], None]],
        closes: list[Callable[[], None]],
        lines: Lines,
        sends_old_values: bool,
        filled_by: Mapping[str, str],
        config: StreamsConfig,
    ) -> None:
        self._node = node
        self._children = children
        self._stores = stores
        self._filled_by = filled_by
        self._global_stores = global_stores
        self._memory = memory
        self._failures = failures
        self._dropped = dropped
        self._lines = lines
        self._config = config
        self.task = task
        self.sends_old_values = sends_old_values
        self.forward = fan_out(tuple(children.values()))
        self.at_start = starts.append
        self.at_batch = batches.append
        self.at_restore = memory.at_restore
        self.at_close = closes.append

    @property
    def name(self) -> str:
        return self._node.name

    @property
    def origin(self) -> Origin:
        return self._node.origin

    @property
    def line(self) -> Line:
        return self._lines.of(self.name)

    def forward_from(self, store: Any) -> Process:
        cache = getattr(store, "cache", None)  # a store of the user's own has none
        if cache is None:
            return self.forward
        cache.listen(self.forward, self.sends_old_values)
        return _nowhere

    def child(self, name: str) -> Process:
        try:
            return self._children[name]
        except KeyError:
            known = ", ".join(f"`{child}`" for child in self._children) or "none"
            raise UnknownNodeError(
                f"`{name}` is not a child of this node; its children are: {known}",
                node=self.name,
                origin=self.origin,
            ) from None

    def store(self, name: str) -> Any:
        if name in self._node.stores and name in self._stores:
            found = self._stores[name]
            if self._filled_by.get(name, self.name) != self.name:
                return ReadOnlyStore(found, "read-only store")
            return found
        if name in self._global_stores:
            return ReadOnlyStore(self._global_stores[name], "global store")
        if name in self._stores:
            raise StoreNotConnectedError(
                f"the store `{name}` is not connected to this node: name it where the node is made, "
                f"`process(..., stores=[{name!r}])` or `add_processor(..., stores=[{name!r}])`",
                node=self.name,
                origin=caller(),
            )
        known = (
            ", ".join(f"`{store}`" for store in sorted({*self._node.stores, *self._global_stores})) or "none"
        )
        raise UnknownStoreError(
            f"there is no store `{name}`; connected to this node are: {known}. Add it with `add_state_store` and "
            f"name it where the node is made",
            node=self.name,
            origin=caller(),
        )

    def global_store(self, name: str) -> Any:
        try:
            return self._global_stores[name]
        except KeyError:
            raise StoreError(
                f"there is no global store `{name}`", node=self.name, origin=self.origin
            ) from None

    def key_serde(self, given: Serde[Any] | None) -> Serde[Any]:
        return operator_serde(given, self._config, "key", self.name, self.origin)

    def value_serde(self, given: Serde[Any] | None) -> Serde[Any]:
        return operator_serde(given, self._config, "value", self.name, self.origin)

    def memory(self, name: str, default: Any, *, of: str | None = None) -> Cell:
        return self._memory.cell(f"{of or self.name}/{name}", default)

    def failed(self, error: Exception, timestamp: int, headers: Headers) -> None:
        self._failures.callback(self.name, self.origin, error, timestamp, headers)

    def drop(self, reason: str) -> None:
        self._dropped[self.name, reason] += 1


_WRITES = frozenset(
    {
        "put",
        "put_all",
        "put_if_absent",
        "put_raw",
        "delete",
        "delete_raw",
        "remove",
        "apply_changelog",
        "close",
    }
)


def changed_by_its_topic_only(store: str, kind: str = "global store") -> str:
    """Why a global or read-only store cannot be written by others than its own processor."""
    return f"the {kind} `{store}` is changed by its topic only; write to that topic instead"


class ReadOnlyStore:
    """A global store as processors of other nodes see it: every host has a copy, so only its topic may change it."""

    __slots__ = ("_kind", "_store")

    def __init__(self, store: Any, kind: str) -> None:
        self._store = store
        self._kind = kind

    def __getattr__(self, name: str) -> Any:
        store = self._store
        if isinstance(store, CustomStore):
            # Its writes are its own: they are refused when they get to its rows.
            return getattr(store.store, name)
        if name in _WRITES:
            raise StoreError(f"`{name}` is refused: {changed_by_its_topic_only(store.name, self._kind)}")
        return getattr(store, name)


def fan_out(children: tuple[Process, ...]) -> Process:
    """One closure for all children; the child's own when there is one, so that nothing is in between."""
    if len(children) == 1:
        return children[0]
    if not children:
        return _nowhere
    if len(children) == 2:
        first, second = children

        def both(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            first(key, value, timestamp, headers)
            second(key, value, timestamp, headers)

        return both

    def every(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        for child in children:
            child(key, value, timestamp, headers)

    return every


def _nowhere(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
    """The end of the line."""
