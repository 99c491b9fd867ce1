"""A restore drill: all stores of an application rebuilt from its changelogs, in processes side by side, and compared.

Nothing of the application is changed: it is read, and the stores are made in a folder of their own. So it can run
beside the application, as often as one likes: whoever has never tried a restore does not know how long it takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from headrace.errors import HeadraceError, StartError
from headrace.restore.progress import RestoreProgress
from headrace.restore.rebuild import RebuiltStore, RebuiltTask
from headrace.restore.recorded import Recorded
from headrace.restore.worker import Job, Said
from headrace.spark.commit import decode, encode
from headrace.spark.failure import unpack_failure
from headrace.spark.restores import RestoreEvent

ShowProgress = Callable[[RestoreProgress], None]


@dataclass(frozen=True, slots=True)
class Drill:
    """What a drill has found."""

    application_id: str
    processes: int
    tasks: list[RebuiltTask]

    @property
    def seconds(self) -> float:
        """From the first task's begin to the last one's end."""
        if not self.tasks:
            return 0.0
        return max(task.ended for task in self.tasks) - min(task.began for task in self.tasks)

    @property
    def stores(self) -> dict[str, list[RebuiltStore]]:
        """The parts of each store, task by task."""
        found: dict[str, list[RebuiltStore]] = {}
        for task in self.tasks:
            for store in task.stores:
                found.setdefault(store.store, []).append(store)
        return found

    @property
    def keys(self) -> int:
        return sum(store.keys for task in self.tasks for store in task.stores)

    @property
    def records(self) -> int:
        return sum(store.records for task in self.tasks for store in task.stores)

    @property
    def bytes(self) -> int:
        return sum(store.bytes for task in self.tasks for store in task.stores)

    @property
    def differing(self) -> int:
        """Keys that are not the same in the local stores."""
        return sum(store.differing or 0 for task in self.tasks for store in task.stores)

    @property
    def uncompared(self) -> dict[str, str]:
        """Tasks whose local copy could not be compared, and why."""
        return {task.task: task.uncompared for task in self.tasks if task.uncompared}

    @property
    def bottleneck(self) -> str:
        """Where the time went: waiting for the log, or sorting and writing."""
        spent = sum(task.ended - task.began for task in self.tasks)
        waited = sum(task.waiting for task in self.tasks)
        return "reading the log" if waited > spent / 2 else "writing the stores"


def drill(
    recorded: Recorded,
    shipment: str,
    folder: Path,
    *,
    processes: int | None = None,
    show: ShowProgress | None = None,
) -> Drill:
    """Rebuild all stores in a folder, as many tasks at a time as there are processes."""
    count = len(recorded.tasks())
    workers = max(1, min(processes or os.cpu_count() or 1, count))
    job = encode(Job(shipment, recorded.base, str(folder))) + b"\n"
    numbers = iter(range(count))
    board = _Board(show)
    lock = threading.Lock()

    def next_number() -> int | None:
        with lock:
            return None if board.failure else next(numbers, None)

    threads = [threading.Thread(target=_run_worker, args=(job, next_number, board)) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if board.failure is not None:
        raise board.failure
    return Drill(recorded.config.application_id, workers, sorted(board.done, key=lambda task: task.task))


class _Board:
    """What the workers have said so far."""

    def __init__(self, show: ShowProgress | None) -> None:
        self.done: list[RebuiltTask] = []
        self.failure: HeadraceError | None = None
        self._show = show
        self._known: dict[tuple[str, str], RestoreEvent] = {}
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def hear(self, said: Said) -> None:
        with self._lock:
            if said.failure is not None:
                self.failure = self.failure or unpack_failure(said.failure.encode())
            if said.done is not None:
                self.done.append(said.done)
            if said.event is not None:
                self._known[said.event.task, said.event.store] = said.event
                if self._show is not None:
                    self._show(RestoreProgress.of(list(self._known.values()), time.monotonic() - self._began))


def _run_worker(job: bytes, next_number: Callable[[], int | None], board: _Board) -> None:
    """One process, from its start to its end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace.restore.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(job)
        while (number := next_number()) is not None:
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            if not _hear_task(process.stdout, board):
                break
        process.stdin.close()
    except BrokenPipeError:
        pass
    finally:
        code = process.wait()
        process.stdout.close()
    if code and board.failure is None:
        board.failure = StartError(
            f"a process that rebuilt stores ended with code {code}: what it said is above"
        )


def _hear_task(lines: IO[bytes], board: _Board) -> bool:
    """Hear a worker until its task is done; False when it will not be."""
    for line in lines:
        said = decode(line, Said)
        board.hear(said)
        if said.event is None:
            return said.done is not None
    return False
