"""Locks that die with their process; that of an application has an epoch, which fences a zombie."""

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


class FileLock:
    """A lock that one process holds until it lets go or ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        return self._descriptor in _held

    def acquire(self, content: bytes = b"") -> bool:
        """Take it if nobody has it; the file then says `content`."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        _held.add(descriptor)
        self.write(content)
        return True

    def write(self, content: bytes) -> None:
        """Have the file say something else, while the lock is held."""
        assert self._descriptor is not None
        os.pwrite(self._descriptor, content, 0)
        os.ftruncate(self._descriptor, len(content))

    def release(self, *, remove: bool) -> None:
        """Let go. `remove` deletes the file too, if nobody can come back to it."""
        if self._descriptor is not None and self.is_held:
            if remove:
                self.path.unlink(missing_ok=True)
            _held.discard(self._descriptor)
            os.close(self._descriptor)
        self._descriptor = None


class EpochLock(FileLock):
    """The lock of one epoch of an application.

    Each epoch has a file of its own, so that the process that takes over from a live one can hold a lock too.
    """

    def __init__(self, directory: Path, application_id: str, epoch: int) -> None:
        super().__init__(directory / "locks" / f"{application_id}.{epoch}")
        self._application_id = application_id

    def acquire(self, content: bytes = b"") -> bool:
        """Take it if no live process has it."""
        return super().acquire(content or msgspec.json.encode(Holder(os.getpid(), socket.gethostname())))

    def refuse(self) -> AlreadyRunningError:
        """The error that names the holder."""
        try:
            holder = msgspec.json.decode(self.path.read_bytes(), type=Holder)
            who = f"process {holder.pid} on host `{holder.host}`"
        except (OSError, msgspec.DecodeError):
            who = "another process"
        return AlreadyRunningError(
            f"application `{self._application_id}` is already running: {who} holds it; stop that one first, "
            "use another `application_id`, or start with `take_over=True` (`--take-over`) to fence it"
        )
