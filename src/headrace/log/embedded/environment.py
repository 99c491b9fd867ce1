"""The LMDB environment of an embedded log: one per process and directory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb

from headrace.disk import free, has_no_room
from headrace.errors import LogError

FORMAT = b"1"
_DATABASES = (b"meta", b"topics", b"partitions", b"entries", b"applications", b"groups")
# What else may lie beside the log's own file; a directory with anything else in it, and no log, is somebody's.
_OURS = {"data.mdb", "lock.mdb", "maintenance", "locks", "groups", "lost+found"}
_NEVER_WRITTEN = 1024 * 1024
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
            _check_place(path)
            self.env: Any = _open(path)
            try:
                self.env.reader_check()
                self._check_length()
                found = self._open_databases()
            except BaseException:
                self.env.close()
                raise
            self.meta, self.topics, self.partitions, self.entries, self.applications, self.groups = found

    def check_process(self) -> None:
        """LogError in a child that was forked after the log was opened."""
        if os.getpid() != self.pid:
            raise LogError(
                f"the log in `{self.path}` was opened by process {self.pid} and cannot be used in its forked child "
                f"{os.getpid()}: start the child with `spawn`, or open the log after the fork only"
            )

    def _check_length(self) -> None:
        """LogError for a file that was cut short: reading the missing part would end the process by a signal."""
        pages = self.env.info()["last_pgno"] + 1
        wanted = pages * self.env.stat()["psize"]
        size = (self.path / "data.mdb").stat().st_size
        # The last pages of a transaction may have been of no use in the end, and were then never written.
        if size < wanted - _NEVER_WRITTEN:
            raise LogError(
                f"the log in `{self.path}` is damaged: its file has {size:,} bytes instead of about {wanted:,}; "
                "restore it from a backup"
            )

    def _open_databases(self) -> list[Any]:
        """The handles of all databases; a new log gets them, and its format, in one transaction."""
        with self.env.begin() as txn:
            present = {bytes(name) for name, _ in txn.cursor()}
        if not present <= set(_DATABASES):
            raise LogError(
                f"`{self.path}` holds an LMDB of something else (with {_named(present - set(_DATABASES))}), no log: "
                "use another directory"
            )
        if present >= set(_DATABASES):  # only making one needs the write lock
            opened = [self.env.open_db(name, create=False) for name in _DATABASES]
            with self.env.begin(db=opened[0]) as txn:
                self._check_format(txn.get(b"format"))
            return opened
        # Handles are good only if the transaction that opened them was committed.
        with self.env.begin(write=True) as txn:
            opened = [self.env.open_db(name, txn=txn) for name in _DATABASES]
            found = txn.get(b"format", db=opened[0])
            if found is None:
                txn.put(b"format", FORMAT, db=opened[0])
            self._check_format(found or FORMAT)
        return opened

    def _check_format(self, found: bytes | None) -> None:
        if found != FORMAT:
            raise LogError(
                f"the log in `{self.path}` has format {(found or b'').decode()!r}, this version of Headrace reads "
                f"{FORMAT.decode()!r}: use the version that wrote it, or another directory"
            )

    @contextmanager
    def read(self, *, buffers: bool = False) -> Iterator[Any]:
        """A snapshot. Keep it short: what it sees cannot be reused on disk."""
        with storage_errors(self.path), self.env.begin(buffers=buffers) as txn:
            yield txn

    @contextmanager
    def write(self, need: int = 0) -> Iterator[Any]:
        """The one write transaction, synced to disk when it ends; rolled back on an exception.

        `need` is how many bytes are about to be written, for whoever has to make room for them.
        """
        with storage_errors(self.path, need), self.env.begin(write=True) as txn:
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


def _check_place(path: Path) -> None:
    """LogError for a directory with other things in it: a log begins in an empty one."""
    if not (path / "data.mdb").exists():
        others = {entry.name.encode() for entry in path.iterdir() if entry.name not in _OURS}
        if others:
            raise LogError(
                f"`{path}` is no log, but has other things in it ({_named(others)}): use an empty directory"
            )


def _named(names: set[bytes]) -> str:
    shown = [f"`{name.decode(errors='replace')}`" for name in sorted(names)]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


_NO_LOG = (lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.CorruptedError)


@contextmanager
def storage_errors(path: Path, need: int = 0) -> Iterator[None]:
    """Turns what LMDB and the file system say into a LogError that names the directory and the cure."""
    try:
        yield
    except (lmdb.Error, OSError) as error:
        raise _explained(error, path, need) from error


def _explained(error: Exception, path: Path, need: int) -> LogError:
    text = str(error)
    if isinstance(error, lmdb.MapFullError):
        return LogError(f"the log in `{path}` has reached its greatest size: delete topics or records")
    if isinstance(error, lmdb.MapResizedError):
        return LogError(
            f"the log in `{path}` is larger than the address space that this process got: raise `ulimit -v`"
        )
    if isinstance(error, lmdb.ReadersFullError):
        return LogError(f"too many processes read the log in `{path}` at once (1024): stop some")
    if isinstance(error, lmdb.PanicError):
        return LogError(
            f"the disk of the log in `{path}` has failed in the middle of a commit ({text}): "
            "look after the disk, then start this process again; what was committed before is whole"
        )
    if has_no_room(error):
        wanted = f"; this append needs about {need + _SPARE:,}" if need else ""
        return LogError(
            f"the disk of the log in `{path}` is full or failing ({text}; {free(path)} bytes are free{wanted}); "
            "nothing of this append was kept: make room, or delete topics or records, and try again"
        )
    if isinstance(error, _NO_LOG):
        return LogError(f"the file in `{path}` is no log, or is damaged ({text}): use another directory")
    if isinstance(error, lmdb.LockError | PermissionError | lmdb.ReadonlyError) or "denied" in text.lower():
        return LogError(
            f"the log in `{path}` cannot be locked or written ({text}): check who owns the directory, and "
            "whether its disk is read-only; reading, too, needs to write to the lock file"
        )
    return LogError(f"the log in `{path}` cannot be used: {text}")


# The pages of LMDB's tree that an append rewrites.
_SPARE = 64 * 1024
