"""The LMDB environment of an embedded log: one per process and directory."""

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
        self.pid = os.getpid()
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

    def check_process(self) -> None:
        """LogError in a child that was forked after the log was opened."""
        if os.getpid() != self.pid:
            raise LogError(
                f"the log in `{self.path}` was opened by process {self.pid} and cannot be used in its forked child "
                f"{os.getpid()}: start the child with `spawn`, or open the log after the fork only"
            )

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
        with storage_errors(self.path), self.env.begin(buffers=buffers) as txn:
            yield txn

    @contextmanager
    def write(self) -> Iterator[Any]:
        """The one write transaction, synced to disk when it ends; rolled back on an exception."""
        with storage_errors(self.path), self.env.begin(write=True) as txn:
            yield txn


_open_environments: dict[str, Environment] = {}
_guard = threading.Lock()


def acquire(path: str | Path) -> Environment:
    """The environment of a directory in this process: LMDB must not be open twice in one.

    Nor may a forked child use, close or open again what its parent has open (closing would free the parent's
    places in the table of readers), so it is told to open the log before its parent does.
    """
    resolved = Path(path).resolve()
    with _guard:
        environment = _open_environments.get(str(resolved))
        if environment is None:
            environment = _open_environments[str(resolved)] = Environment(resolved)
        environment.check_process()
        environment.users += 1
        return environment


def release(environment: Environment) -> None:
    """Give it back; the last user closes it."""
    if environment.pid != os.getpid():
        return
    with _guard:
        environment.users -= 1
        if environment.users == 0:
            del _open_environments[str(environment.path)]
            environment.env.close()


# Another thread of the parent may have held the lock at the moment of the fork.
os.register_at_fork(after_in_child=lambda: globals().update(_guard=threading.Lock()))


def _open(path: Path) -> lmdb.Environment:
    for size in _MAP_SIZES:
        try:
            # No writemap: with it, a full disk would be a SIGBUS instead of an error.
            return lmdb.open(str(path), map_size=size, max_dbs=8, max_readers=1024, max_spare_txns=8)
        except (MemoryError, lmdb.MemoryError):
            continue
    raise LogError(f"the system refuses the address space for the log in `{path}`: raise `ulimit -v`")


# LMDB reports a write that stopped half-way, which is how a disk fills up, as an input/output error.
_NO_ROOM = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))


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
                f"the disk of the log in `{path}` is full or failing ({text}); nothing of this append was kept: "
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
