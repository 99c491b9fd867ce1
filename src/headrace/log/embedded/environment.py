"""The LMDB environment of an embedded log: one per process and directory, opened anew after a fork."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb

from headrace.errors import LogError

FORMAT = b"1"
# Sparse: only what is written takes room on the disk. Where so much address space is refused, take less.
_MAP_SIZES = (1 << 40, 1 << 36, 1 << 33)


class Environment:
    """The open environment with its databases; `release` it when done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.users = 0
        with storage_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            self.env: Any = _open(path)
            self.env.reader_check()
            self.meta = self._database(b"meta")
            self.topics = self._database(b"topics")
            self.partitions = self._database(b"partitions")
            self.entries = self._database(b"entries")
            self.applications = self._database(b"applications")
            self._check_format()

    def _database(self, name: bytes) -> Any:
        try:
            return self.env.open_db(name, create=False)
        except lmdb.NotFoundError:  # only making it needs the write lock
            return self.env.open_db(name)

    def _check_format(self) -> None:
        with self.env.begin(db=self.meta) as txn:
            found = txn.get(b"format")
        if found is None:
            with self.write() as txn:
                txn.put(b"format", FORMAT, db=self.meta)
        elif found != FORMAT:
            raise LogError(
                f"the log in `{self.path}` has format {found.decode()!r}, this version reads {FORMAT.decode()!r}: "
                "use the version that wrote it, or another directory"
            )

    @contextmanager
    def read(self, *, buffers: bool = False) -> Iterator[Any]:
        """A snapshot. Keep it short: what it sees cannot be reused on disk."""
        with self.env.begin(buffers=buffers) as txn:
            yield txn

    @contextmanager
    def write(self) -> Iterator[Any]:
        """The one write transaction, synced to disk when it ends; rolled back on an exception."""
        with storage_errors(self.path), self.env.begin(write=True) as txn:
            yield txn


_open_environments: dict[tuple[int, str], Environment] = {}
_guard = threading.Lock()


def acquire(path: str | Path) -> Environment:
    """The environment of a directory in this process.

    LMDB must not be open twice in a process, and a child may not use its parent's: hence the key. A child keeps
    the parent's entry untouched, so that nothing closes it there.
    """
    resolved = Path(path).resolve()
    key = (os.getpid(), str(resolved))
    with _guard:
        if key not in _open_environments:
            _open_environments[key] = Environment(resolved)
        environment = _open_environments[key]
        environment.users += 1
        return environment


def release(environment: Environment) -> None:
    """Give it back; the last user closes it."""
    key = (os.getpid(), str(environment.path))
    with _guard:
        if _open_environments.get(key) is not environment:
            return
        environment.users -= 1
        if environment.users == 0:
            del _open_environments[key]
            environment.env.close()


os.register_at_fork(after_in_child=lambda: globals().update(_guard=threading.Lock()))


def _open(path: Path) -> lmdb.Environment:
    for size in _MAP_SIZES:
        try:
            # No writemap: with it, a full disk would be a SIGBUS instead of an error.
            return lmdb.open(str(path), map_size=size, max_dbs=8, max_readers=1024, max_spare_txns=8)
        except (MemoryError, lmdb.MemoryError):
            continue
    raise LogError(f"the system refuses the address space for the log in `{path}`: raise `ulimit -v`")


_NO_ROOM = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT), os.strerror(errno.EFBIG))


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turns what LMDB and the file system say into a LogError that names the directory and the cure."""
    try:
        yield
    except lmdb.MapFullError as error:
        raise LogError(
            f"the log in `{path}` has reached its greatest size: delete topics or records"
        ) from error
    except lmdb.ReadersFullError as error:
        raise LogError(f"too many processes read the log in `{path}` at once (1024): stop some") from error
    except (lmdb.Error, OSError) as error:
        text = str(error)
        if any(message in text for message in _NO_ROOM):
            raise LogError(
                f"the disk of the log in `{path}` is full ({text}); nothing of this append was kept: "
                "free some space and try again"
            ) from error
        if (
            isinstance(error, lmdb.LockError | PermissionError | lmdb.ReadonlyError)
            or "denied" in text.lower()
        ):
            raise LogError(
                f"the log in `{path}` cannot be locked or written ({text}): check who owns the directory"
            ) from error
        raise LogError(f"the log in `{path}` cannot be used: {text}") from error
