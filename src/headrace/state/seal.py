"""The seal: a small file beside a store that says whether its LMDB file is as we left it.

LMDB is used without sync and has no checksums: a power cut may leave anything in the file, and reading a damaged
one can end the process. So whether it may be read at all must be known from outside. A process that is killed
loses nothing (the pages are the kernel's), a machine that goes down does, unless the store was closed cleanly.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

_SIZE = 256
_TRIES = 3
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

Verdict: TypeAlias = Literal["new", "whole", "doubtful", "lost"]
"""No file yet; as we left it; changed after the last seal (a killed process, or damage); not to be trusted."""


class Seal(msgspec.Struct, frozen=True):
    """What was true when the last commit was done."""

    boot: str
    clean: bool
    size: int
    modified: int
    format: int = 1


_decoder = msgspec.json.Decoder(Seal)


def boot_id() -> str:
    """Names the time between two starts of the machine; where there is no such name, no two are the same."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return f"process-{os.getpid()}"


class SealFile:
    """Reads and writes the seal of one LMDB file."""

    __slots__ = ("_boot", "_data", "_path")

    def __init__(self, directory: Path, boot: str) -> None:
        self._path = directory / "seal"
        self._data = directory / "data.mdb"
        self._boot = boot

    def read(self) -> Seal | None:
        """The last seal; None when there is none that can be read."""
        for _ in range(_TRIES):
            with suppress(OSError, msgspec.DecodeError):
                return _decoder.decode(self._path.read_bytes().rstrip(b"\0 "))
            # Another process may be writing it right now.
            time.sleep(0.01)
        return None

    def judge(self) -> Verdict:
        """May the LMDB file be opened?"""
        try:
            stat = self._data.stat()
        except FileNotFoundError:
            return "new"
        seal = self.read()
        if seal is None:
            return "lost"
        untouched = (seal.size, seal.modified) == (stat.st_size, stat.st_mtime_ns)
        if seal.boot != self._boot:
            return "whole" if seal.clean and untouched else "lost"
        return "whole" if untouched else "doubtful"

    def now(self) -> tuple[int, int] | None:
        """Size and time of the file; None when there is none."""
        try:
            stat = self._data.stat()
        except FileNotFoundError:
            return None
        return stat.st_size, stat.st_mtime_ns

    def untouched(self, known: tuple[int, int] | None) -> tuple[int, int] | None:
        """Size and time of the file, if nobody has changed it but those who seal it afterwards; else None.

        `known` is what this answered the last time; while that is still true, nothing has to be read.
        """
        for _ in range(_TRIES):
            found = self.now()
            if found is None or found == known:
                return found
            seal = self.read()
            if seal is not None and (seal.size, seal.modified) == found:
                return found
            time.sleep(0.005)  # another process may have written, and be about to seal it
        return None

    def write(self, *, clean: bool = False) -> tuple[int, int]:
        """Seal the file as it is now; clean only when it was synced."""
        try:
            stat = self._data.stat()
            size, modified = stat.st_size, stat.st_mtime_ns
        except FileNotFoundError:
            size = modified = 0
        data = msgspec.json.encode(Seal(self._boot, clean, size, modified)).ljust(_SIZE)
        # One write in place: a process that dies before or after it leaves one seal or the other.
        seal = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(seal, data, 0)
            if clean:
                os.fsync(seal)
        finally:
            os.close(seal)
        return size, modified

    def remove(self) -> None:
        """Without a seal, nobody trusts the file."""
        self._path.unlink(missing_ok=True)

    def break_clean(self) -> None:
        """Before the first write after a clean close: a power cut must not find the clean seal on disk."""
        seal = self.read()
        if seal is None or not seal.clean:
            return
        data = msgspec.json.encode(msgspec.structs.replace(seal, clean=False, boot=self._boot)).ljust(_SIZE)
        file = os.open(self._path, os.O_WRONLY)
        try:
            os.pwrite(file, data, 0)
            os.fsync(file)
        finally:
            os.close(file)
