"""An LMDB environment of local stores: checked before use, with its databases, its map and its seal."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import lmdb

from headrace.disk import disk_full, has_no_room
from headrace.errors import StoreError
from headrace.state.probe import is_readable
from headrace.state.seal import SealFile
from headrace.state.table import DAMAGE

MAP_SIZE: Final = 256 * 1024**3
"""Address space, not disk: the file grows as it is filled, and the map when it is full."""
_LEAST_NEED = 65_536
_NOT_OURS = (lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.CorruptedError)

logger = logging.getLogger("headrace")


class User(Protocol):
    """Who has read transactions open in an environment."""

    def unbind(self) -> None:
        """End them; they may be begun again."""
        ...


class Environment:
    """One LMDB environment and its databases. See `sharing` for how to get one."""

    def __init__(self, path: Path, map_size: int, boot: str, reading: bool) -> None:
        self.path = path
        self.is_fresh = False
        """Whether opening it found nothing, or nothing that could be trusted."""
        self.is_suspect = False
        """Whether something was read from it that cannot be right."""
        self.lost: str | None = None
        """Why what was there was thrown away."""
        self.users: list[User] = []
        self._databases: dict[str, Any] = {}
        self._seal = SealFile(path, boot)
        self.is_for_writing = False
        self._env: Any = self._start(map_size, reading)
        self._identity = self._file_identity()
        # It was looked at just now: also a file that nobody has sealed since a process was killed is as it should be.
        self._known: tuple[int, int] | None = self._seal.now()

    def _start(self, map_size: int, reading: bool) -> Any:
        try:
            return self._check_and_open(map_size, reading)
        except (OSError, lmdb.Error) as error:
            if has_no_room(error):
                raise self._explain(error) from error
            raise StoreError(
                f"the store in `{self.path}` cannot be opened: {error}; check the folder's owner and rights, "
                "or set `state_dir` to another"
            ) from error

    def _check_and_open(self, map_size: int, reading: bool) -> Any:
        self.path.mkdir(parents=True, exist_ok=True)
        with _guard(self.path):
            verdict = self._seal.judge()
            if verdict == "doubtful" and not is_readable(self.path):
                verdict, self.lost = "lost", "its file is damaged"
            elif verdict == "lost":
                self.lost = "the machine went down before it was closed"
            if reading and verdict in ("new", "lost"):
                raise StoreError(
                    f"the store in `{self.path}` cannot be read ({self.lost or 'there is no file'}): "
                    "it is made anew when its task runs next"
                )
            if verdict in ("new", "lost"):
                self._wipe()
            try:
                env = _lmdb_open(self.path, map_size)
            except _NOT_OURS as error:
                if reading:
                    raise
                self.lost = f"LMDB cannot read it ({error})"
                self._wipe()
                env = _lmdb_open(self.path, map_size)
            if self.is_fresh:
                self._seal.write()
        env.reader_check()
        if self.lost:
            logger.warning("local store `%s` is thrown away: %s", self.path, self.lost)
        return env

    def _wipe(self) -> None:
        self.is_fresh = True
        for name in ("data.mdb", "lock.mdb"):
            (self.path / name).unlink(missing_ok=True)
        self._seal.write()

    @property
    def is_current(self) -> bool:
        """Whether this is open, still the file at the path, and nobody else has written to that.

        Following the pages of a file that was cut off or overwritten would end the process.
        """
        if self._env is None or self._identity != self._file_identity():
            return False
        self._known = self._seal.untouched(self._known)
        return self._known is not None

    def suspend(self) -> None:
        """Close without a seal; whoever uses it acquires it anew. LMDB must not be carried over a fork."""
        for user in self.users:
            user.unbind()
        if self._env is not None:
            self._env.close()
            self._env = None

    def discard(self, reason: object) -> None:
        """Throw the file away, because what is in it cannot be right; whoever uses it acquires a new one."""
        logger.warning("local store `%s` is thrown away: %s", self.path, reason)
        self.suspend()
        with _guard(self.path):
            self._wipe()

    def copy_to(self, folder: Path) -> Path:
        """A copy of the file as of now, without the pages that are free; nobody has to stop for it."""
        folder.mkdir(parents=True, exist_ok=True)
        copy = folder / "data.mdb"
        copy.unlink(missing_ok=True)
        try:
            self._env.copy(str(folder), compact=True)
        except (OSError, lmdb.Error) as error:
            copy.unlink(missing_ok=True)
            raise self._explain(error) from error
        return copy

    def replace(self, file: Path) -> None:
        """Put another file in the place of this one; whoever uses it acquires it anew."""
        self.suspend()
        with _guard(self.path):
            self._wipe()
            file.replace(self.path / "data.mdb")
            self._seal.write()

    def distrust(self) -> None:
        """Make sure that the file is thrown away before it is used again, in whatever process."""
        self._seal.remove()
        self.is_suspect = True

    def reader_check(self) -> int:
        """Free the places of readers that were killed; they would keep old pages from being used again."""
        return int(self._env.reader_check())

    def read(self) -> Any:
        """A read transaction; the caller ends it."""
        try:
            return self._env.begin()
        except lmdb.MapResizedError:
            self._remap(0)
            return self._env.begin()

    @contextmanager
    def write(self, need: Callable[[], int] = lambda: 0) -> Iterator[Any]:
        """A write transaction: committed at the end of the block, aborted by an exception.

        `need` is asked how many bytes change when there is no room for them.
        """
        txn = self._begin_write()
        try:
            self._seal.break_clean()
            yield txn
            txn.commit()
        except (lmdb.MapFullError, *DAMAGE):
            txn.abort()
            raise
        except (lmdb.Error, OSError) as error:
            txn.abort()
            raise self._explain(error, need()) from error
        except BaseException:
            txn.abort()
            raise
        self._write_seal()

    def _write_seal(self) -> None:
        try:
            self._known = self._seal.write()
        except OSError as error:
            raise self._explain(error) from error

    def _begin_write(self) -> Any:
        try:
            return self._env.begin(write=True)
        except lmdb.MapResizedError:
            self._remap(0)
            return self._env.begin(write=True)

    def grow(self) -> None:
        """Double the map, after a write found it full."""
        self._remap(2 * self._env.info()["map_size"])

    def _remap(self, size: int) -> None:
        # A transaction of this process that is open now would read unmapped memory.
        for user in self.users:
            user.unbind()
        self._env.set_mapsize(size)

    def databases(self, names: Iterable[str], *, create: bool = True) -> dict[str, Any]:
        """The handles of databases; those that do not exist are made, or left out."""
        missing = [name for name in names if name not in self._databases]
        if missing:
            # A handle is good only if it was opened in a write transaction that was committed: one of its own.
            opened, made = self._open_databases(missing, create)
            self._databases |= opened
            if made:
                self._write_seal()
        return {name: self._databases[name] for name in names if name in self._databases}

    def _open_databases(self, names: list[str], create: bool) -> tuple[dict[str, Any], bool]:
        opened: dict[str, Any] = {}
        made = False
        txn = self._begin_write()
        try:
            for name in names:
                try:
                    opened[name] = self._env.open_db(name.encode(), txn=txn, create=False)
                except lmdb.NotFoundError:
                    if create:
                        self._seal.break_clean()
                        opened[name] = self._env.open_db(name.encode(), txn=txn, create=True)
                        made = True
            txn.commit()
        except lmdb.Error as error:
            txn.abort()
            raise self._explain(error) from error
        except BaseException:
            txn.abort()
            raise
        return opened, made

    def names(self) -> list[str]:
        """The names of all databases there are."""
        txn = self.read()
        try:
            return [bytes(name).decode() for name, _ in txn.cursor()]
        finally:
            txn.abort()

    def close(self) -> None:
        """Write everything to disk, seal it as clean, and close."""
        if self._env is None:
            return
        try:
            if self.is_for_writing and self.is_current:
                with self._alone():
                    self._env.sync(True)
                    self._seal.write(clean=True)
        finally:
            self._env.close()
            self._env = None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No process writes meanwhile, so that what is sealed is what was synced."""
        txn = self._begin_write()
        try:
            yield
        finally:
            txn.abort()

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            stat = (self.path / "data.mdb").stat()
        except FileNotFoundError:
            return None
        return stat.st_dev, stat.st_ino

    def _explain(self, error: lmdb.Error | OSError, need: int = 0) -> StoreError:
        if not has_no_room(error):
            return StoreError(
                f"the store in `{self.path}` could not be written: {error}; the last commit is intact"
            )
        # LMDB writes every page that changes anew, and what undoes the commit beside it.
        wants = f"about {max(2 * need, _LEAST_NEED):,} bytes" if need else "some room for a new file"
        return disk_full(
            self.path,
            error,
            needs=f"this commit needs {wants}",
            cure="set `state_dir` to a larger disk",
        )


@contextmanager
def _guard(path: Path) -> Iterator[None]:
    """One process at a time decides whether a file is to be kept."""
    guard = os.open(path / "guard", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield
    finally:
        os.close(guard)


def _lmdb_open(path: Path, map_size: int) -> Any:
    return lmdb.open(
        str(path),
        map_size=map_size,
        max_dbs=512,
        max_readers=1024,
        max_spare_txns=4,
        sync=False,
        metasync=False,
        writemap=False,
        lock=True,
    )
