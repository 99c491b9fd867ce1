"""On how many hosts an application runs, what follows for its files, and which host this process is on."""

from __future__ import annotations

import os
import socket
import tempfile
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from headrace.config import STANDBY_DIR, STATE_DIR, StreamsConfig
from headrace.errors import StartError


class Place(NamedTuple):
    """Where a worker runs, in Spark's words."""

    host: str
    executor: str = ""
    """The number of the executor; empty where Spark's driver runs the tasks itself."""

    def __str__(self) -> str:
        return f"executor {self.executor} on {self.host}" if self.executor else self.host


def is_one_host(master: str) -> bool:
    """Whether Spark runs all tasks on the driver's machine, also in executors of their own as `local-cluster` does.

    >>> is_one_host("local-cluster[2,1,1024]"), is_one_host("spark://head:7077"), is_one_host("yarn")
    (True, False, False)
    """
    return master.startswith("local")


def on_these_hosts(config: StreamsConfig, master: str) -> StreamsConfig:
    """The settings as the workers need them: theirs is another working directory, and perhaps another machine.

    Raises StartError for what cannot work there.
    """
    if is_one_host(master):
        state, standby = (
            None if given is None else str(Path(given).resolve())
            for given in (config.state_dir, config.standby_dir)
        )
        data = str(Path(config.data_dir).resolve())
        return replace(config, data_dir=data, state_dir=state, standby_dir=standby)
    check_log(config, master)
    _check_folder("standby_dir", config.standby_dir, STANDBY_DIR, master)
    if config.state_dir is None:
        return replace(config, state_dir=str(Path(tempfile.gettempdir(), "headrace-state")))
    _check_folder("state_dir", config.state_dir, STATE_DIR, master)
    return config


def _check_folder(setting: str, value: str | None, variable: str, master: str) -> None:
    if value is not None and not Path(value).is_absolute():
        raise StartError(
            f"`{setting}` is {value!r}, and on a cluster (`{master}`) every worker has a working "
            "directory of its own: give an absolute path that is on a local disk of each host, "
            f"or set {variable} there"
        )


def check_log(config: StreamsConfig, master: str) -> None:
    """The embedded log is a directory, and only its own machine can see it."""
    if config.bootstrap_servers is None and not is_one_host(master):
        raise StartError(
            f"the embedded log is a directory on one machine (`{config.log_path.resolve()}`), and the workers of "
            f"`{master}` may run on others, also by way of a shared file system it would be damaged: set "
            "`bootstrap_servers` to a Kafka that all of them reach, or run on this machine alone "
            "(no `master`, or `local[4]`)"
        )


@cache
def place() -> Place:
    """Where this process runs: its executor tells it on the command line, whoever has started that one."""
    pid = os.getpid()
    # A worker was forked by a daemon, and that was started by the executor.
    for _ in range(4):
        words = _command(pid)
        if b"--executor-id" in words and b"--hostname" in words:
            values = dict(pairwise(words))
            return Place(values[b"--hostname"].decode(), values[b"--executor-id"].decode())
        pid = _parent(pid)
        if pid <= 1:
            break
    return Place(socket.gethostname())


def _command(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []  # another kind of system: its own name has to do


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0
