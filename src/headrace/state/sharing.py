"""One LMDB environment per process and path, shared by all who use it there, and never carried over a fork."""

from __future__ import annotations

import os
from pathlib import Path

from headrace.state.environment import MAP_SIZE, Environment, User
from headrace.state.seal import boot_id

_open: dict[str, Environment] = {}


def acquire(
    path: Path, user: User, *, map_size: int = MAP_SIZE, boot: str | None = None, reading: bool = False
) -> Environment:
    """The environment at a path; opened, and its file checked, if this process has not got it yet.

    A file that cannot be trusted is thrown away; one who only reads gets a StoreError instead.
    """
    key = os.path.realpath(path)
    found = _open.get(key)
    if found is not None and not found.is_current:
        # Another process found it damaged and began anew: nobody may go on with the old file.
        found.close()
        del _open[key]
        found = None
    if found is None:
        found = _open[key] = Environment(path, map_size, boot or boot_id(), reading)
    found.users.append(user)
    found.is_for_writing |= not reading
    return found


def release(environment: Environment, user: User) -> None:
    """Give an environment back; the last one to do so closes it."""
    environment.users[:] = [other for other in environment.users if other is not user]
    if not environment.users:
        for key in [key for key, other in _open.items() if other is environment]:
            del _open[key]
        environment.close()


def _before_fork() -> None:
    for environment in _open.values():
        environment.suspend()
    _open.clear()


os.register_at_fork(before=_before_fork)
