"""Copies of a task's stores that another process of this host keeps: what they hold, and how one is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import msgspec

from headrace.errors import StoreError
from headrace.state import sharing
from headrace.state.stamps import Held, decode_held

META = "meta"
HELD = b"held"
"""Where a file keeps what it holds."""

FindCopies: TypeAlias = Callable[[], Iterable[Path]]
"""The folders that may have a copy of a task's stores."""


def nowhere() -> Iterable[Path]:
    """There are no copies."""
    return ()


class _Visitor:
    """Has nothing open in the environment of others for longer than it looks."""

    def unbind(self) -> None:
        """Nothing to end."""


def look(folder: Path) -> Held | None:
    """What a copy holds; None when there is none that can be trusted."""
    if not (folder / "data.mdb").exists():
        return None
    visitor = _Visitor()
    try:
        environment = sharing.acquire(folder, visitor, reading=True)
    except StoreError:
        return None
    try:
        meta = environment.databases([META], create=False).get(META)
        if meta is None:
            return None
        txn = environment.read()
        try:
            return decode_held(txn.get(HELD, None, meta))
        except msgspec.DecodeError:
            return None
        finally:
            txn.abort()
    finally:
        sharing.release(environment, visitor)


def copy_of(folder: Path, to: Path) -> Path:
    """A copy of the file in a folder, as of its last commit; its owner goes on meanwhile."""
    visitor = _Visitor()
    environment = sharing.acquire(folder, visitor, reading=True)
    try:
        return environment.copy_to(to)
    finally:
        sharing.release(environment, visitor)
