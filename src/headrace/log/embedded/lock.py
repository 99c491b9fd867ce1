"""Who may write for an application: a lock that dies with its process, and an epoch that fences a zombie."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

import msgspec

from headrace.errors import AlreadyRunningError

_held: set[int] = set()


def _close_in_child() -> None:
    # A forked child would otherwise keep its parent's locks alive.
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_child)


class Holder(msgspec.Struct):
    """The process that holds a lock."""

    pid: int
    host: str


class EpochLock:
    """The lock of one epoch of an application.

    Each epoch has a file of its own, so that the process that takes over from a live one can hold a lock too.
    """

    def __init__(self, directory: Path, application_id: str, epoch: int) -> None:
        self._path = directory / "locks" / f"{application_id}.{epoch}"
        self._application_id = application_id
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Take it if no live process has it."""
        self._path.parent.mkdir(exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(Holder(os.getpid(), socket.gethostname())), 0)
        self._descriptor = descriptor
        _held.add(descriptor)
        return True

    def refuse(self) -> AlreadyRunningError:
        """The error that names the holder."""
        try:
            holder = msgspec.json.decode(self._path.read_bytes(), type=Holder)
            who = f"process {holder.pid} on host `{holder.host}`"
        except (OSError, msgspec.DecodeError):
            who = "another process"
        return AlreadyRunningError(
            f"application `{self._application_id}` is already running: {who} holds it; stop that one first, "
            "use another `application_id`, or start with `take_over=True` (`--take-over`) to fence it"
        )

    def release(self, *, remove: bool) -> None:
        """Let go. `remove` deletes the file too, for an epoch that nobody can come back to."""
        if self._descriptor in _held:
            if remove:
                self._path.unlink(missing_ok=True)
            _held.discard(self._descriptor)
            os.close(self._descriptor)
        self._descriptor = None
