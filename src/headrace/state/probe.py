"""Reads all of an LMDB file in a process of its own, which may die of it: run as `python probe.py <directory>`.

A truncated or overwritten file ends the process that follows its pages (SIGBUS, SIGSEGV, an assertion of LMDB's);
better this one than the worker.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def is_readable(directory: Path) -> bool:
    """Whether every page in use of the file can be read."""
    found = subprocess.run(
        [sys.executable, "-I", __file__, str(directory)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return found.returncode == 0 and found.stdout == b"whole"


def read_all(directory: str) -> None:
    """Follow every page: the tree of free pages by way of a compacting copy to nowhere, and then each entry."""
    import lmdb  # only in the child

    with lmdb.open(directory, readonly=True, create=False, max_dbs=4096, max_readers=1024) as env:
        with Path(os.devnull).open("wb") as nowhere:
            env.copyfd(nowhere.fileno(), compact=True)
        with env.begin(buffers=True) as txn:
            for name, _ in txn.cursor():
                database = env.open_db(bytes(name), txn=txn, create=False)
                for _key, _value in txn.cursor(database):
                    pass


if __name__ == "__main__":
    read_all(sys.argv[1])
    sys.stdout.write("whole")
