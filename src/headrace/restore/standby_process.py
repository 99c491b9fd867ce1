"""Standbys that an application keeps beside it, each in a process of its own that ends with the application.

A process gets what it needs on its standard input, and ends when that is closed: so it does not outlive the
application, not even one that was killed. Its copies stay, and the next standby goes on with them.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from headrace.errors import HeadraceError, StartError
from headrace.log import log_config, open_log
from headrace.restore.recorded import Recorded, recorded
from headrace.restore.standby import EVERY, Standby, keep_following
from headrace.spark.ship import resolve, unpack

_AGAIN_SECONDS = 5.0
_END_SECONDS = 10.0
_NICE = 5

logger = logging.getLogger("headrace")


class StandbyProcesses:
    """Starts them, starts one again that has died, and ends them."""

    def __init__(self, shipment: str, number: int) -> None:
        self._shipment = shipment.encode() + b"\n"
        self._ending = threading.Event()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._keep, name=f"headrace-standby-{n}", daemon=True)
            for n in range(number)
        ]

    def start(self) -> None:
        """Start all; returns at once."""
        for thread in self._threads:
            thread.start()

    @property
    def pids(self) -> list[int]:
        """Those that run."""
        with self._lock:
            return [process.pid for process in self._processes if process.poll() is None]

    def close(self) -> None:
        """End all, and wait for that."""
        self._ending.set()
        with self._lock:
            for process in self._processes:
                _hang_up(process)
        for thread in self._threads:
            if thread.is_alive():
                thread.join(2 * _END_SECONDS)

    def _keep(self) -> None:
        while not self._ending.is_set():
            process = self._begin()
            if process is None:
                return
            code = process.wait()
            with self._lock:
                self._processes.remove(process)
            if not self._ending.is_set():
                logger.warning(
                    "a standby ended with code %s; another one begins in %g s", code, _AGAIN_SECONDS
                )
                self._ending.wait(_AGAIN_SECONDS)

    def _begin(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._ending.is_set():
                return None
            process = subprocess.Popen(
                [sys.executable, "-m", "headrace.restore.standby_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                # Ctrl-C is for the application, which ends this one in its own time.
                start_new_session=True,
            )
            self._processes.append(process)
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(self._shipment)
            process.stdin.flush()
        return process


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    if process.poll() is None:
        patience = threading.Timer(_END_SECONDS, process.kill)
        patience.daemon = True
        patience.start()


def follow(lines: BinaryIO) -> None:
    """Follow the application that the first line names, until there are no more lines."""
    shipment = unpack(lines.readline().decode().strip())
    ending = threading.Event()

    def wait_for_the_end() -> None:
        lines.read()
        ending.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    topology, config = resolve(shipment.topology), shipment.config
    log = open_log(log_config(config))
    try:
        known = _when_committed(lambda: recorded(topology, config, log), ending)
        if known is None:
            return
        standby = Standby(known, log)
        try:
            keep_following(standby, ending, lambda status: None)
        finally:
            standby.close()
    finally:
        log.close()


def _when_committed(look: Callable[[], Recorded], ending: threading.Event) -> Recorded | None:
    """An application that has only just begun has no commit yet."""
    while not ending.is_set():
        try:
            return look()
        except StartError:
            ending.wait(EVERY)
    return None


if __name__ == "__main__":
    os.nice(_NICE)  # the application comes first
    try:
        follow(sys.stdin.buffer)
    except HeadraceError as error:
        print(f"headrace: standby: {error}", file=sys.stderr)
        sys.exit(1)
