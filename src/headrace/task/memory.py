"""What operators remember beside their stores: stream times and due times, small and kept over restarts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headrace.errors import StoreError

_encoder = msgspec.json.Encoder(order="deterministic")


class Cell:
    """One value. Operators keep the cell and read and write `value`."""

    __slots__ = ("default", "value")

    def __init__(self, default: Any) -> None:
        self.default = default
        self.value = default


class Memory:
    """The cells of one task, by name.

    >>> memory = Memory()
    >>> time = memory.cell("windows", -1)
    >>> memory.snapshot() is None
    True
    >>> time.value = 42
    >>> memory.snapshot()
    b'{"windows":42}'
    """

    __slots__ = ("_actions", "_cells", "_last", "_restored")

    def __init__(self) -> None:
        self._actions: list[Callable[[], None]] = []
        self._cells: dict[str, Cell] = {}
        self._restored: dict[str, Any] = {}
        self._last = b"{}"

    def cell(self, name: str, default: Any) -> Cell:
        """The cell of that name, made with `default` unless a restored snapshot knows better."""
        found = self._cells.get(name)
        if found is None:
            found = self._cells[name] = Cell(default)
            if name in self._restored:
                found.value = self._restored[name]
        return found

    def at_restore(self, action: Callable[[], None]) -> None:
        """Run the action after each `restore`."""
        self._actions.append(action)

    def snapshot(self) -> bytes | None:
        """All values that differ from their default, or None when nothing changed since the last snapshot."""
        # A restored value whose cell nobody has asked for yet (a partition without records) must not get lost.
        values = {name: value for name, value in self._restored.items() if name not in self._cells}
        for name, cell in self._cells.items():
            if cell.value != cell.default:
                values[name] = cell.value
        data = _encoder.encode(values)
        if data == self._last:
            return None
        self._last = data
        return data

    def restore(self, snapshot: bytes | None) -> None:
        """Go back to a snapshot; None is the state before the first record."""
        try:
            restored = {} if snapshot is None else msgspec.json.decode(snapshot, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise StoreError(
                f"the task's own memory cannot be read ({error}): it was damaged or written by another version; "
                f"delete the local state folder, it is rebuilt from the changelog"
            ) from error
        self._restored = restored
        self._last = b"{}" if snapshot is None else snapshot
        for name, cell in self._cells.items():
            cell.value = restored.get(name, cell.default)
        for action in self._actions:
            action()
