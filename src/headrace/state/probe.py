"""Reads all of an LMDB file in a process of its own, which may die of it: run as `python probe.py <directory>`.

A truncated or overwritten file ends the process that follows its pages (SIGBUS, SIGSEGV, an assertion of LMDB's);
better this one than the worker.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, sys.argv[2])  # where the parent found lmdb

import lmdb


def is_readable(directory: Path) -> bool:
    """Whether every page in use of the file can be read."""
    found = subprocess.run(
        [sys.executable, "-I", __file__, str(directory), str(Path(lmdb.__file__).parents[1])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return found.returncode == 0 and found.stdout == b"whole"


def read_all(directory: str) -> None:
    """Follow every page: the tree of free pages by way of a compacting copy to nowhere, and then each entry."""
    with lmdb.open(directory, readonly=True, create=False, max_dbs=4096, max_readers=1024) as env:
        with Path(os.devnull).open("wb") as nowhere:
            env.copyfd(nowhere.fileno(), compact=True)
        with env.begin() as txn:
            for name, _ in txn.cursor():
                read_entries(txn, env.open_db(name, txn=txn, create=False))


def read_entries(txn: Any, database: Any) -> None:
    """Entries come in order, and as many as are said to be there; pages of garbage give something else."""
    count = 0
    last = b""
    for key, _ in txn.cursor(database):
        if key <= last:
            raise SystemExit("out of order")
        last = key
        count += 1
    if count != txn.stat(database)["entries"]:
        raise SystemExit("entries are missing")


if __name__ == "__main__":
    read_all(sys.argv[1])
    sys.stdout.write("whole")
