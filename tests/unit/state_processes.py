"""What other processes do to a store in the tests: run as `python state_processes.py <what> <path> …`."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from state_cases import Changelogs

from headrace.errors import DiskFullError
from headrace.serdes import serde_for
from headrace.state.local import Accepted, LocalReader, LocalState, Stamp
from headrace.topology.stores import StoreSpec

TEXT = serde_for(str)
SPEC = StoreSpec("s", "key_value", TEXT, TEXT)
KEYS = 3_000


def filled(number: int) -> dict[str, list[tuple[bytes, bytes | None, int]]]:
    """What commit `number` changes: every key gets the same value, so a torn commit shows."""
    return {"s": [(f"key-{key:05}".encode(), f"value-{number}".encode(), 0) for key in range(KEYS)]}


def logs_of(number: int) -> Changelogs:
    logs = Changelogs(chunk=1_000)
    for commit in range(1, number + 1):
        logs.publish(filled(commit))
    return logs


def accepted(number: int) -> Accepted:
    return logs_of(number).accepted(Stamp("i", number, "a")) if number else Accepted()


def fill(state: LocalState, number: int) -> None:
    store: Any = state.store("s", key=TEXT, value=TEXT)
    for key, value, _ in filled(number)["s"]:
        store.put(key.decode(), (value or b"").decode())


def make(path: Path, commits: int) -> None:
    """A store with some commits, left open by a process that is killed."""
    state = LocalState(path, [SPEC])
    for number in range(1, commits + 1):
        state.prepare(accepted(number - 1), logs_of(number - 1).read)
        fill(state, number)
        state.commit(Stamp("i", number, "a"), accepted(number - 1))
    print("made", flush=True)
    os.kill(os.getpid(), 9)


def check(path: Path, commit: int, boot: str | None = None) -> None:
    """What a task finds, and whether it has the right content afterwards."""
    state = LocalState(path, [SPEC], boot=boot)
    recovery = state.prepare(accepted(commit), logs_of(commit).read)
    store: Any = state.store("s", key=TEXT, value=TEXT)
    values = {value for _, value in store.all()}
    whole = values == {f"value-{commit}"} and store.approximate_num_entries() == KEYS
    print(recovery.kind, "whole" if whole else f"wrong: {values}", flush=True)
    state.close()


def endless(path: Path) -> None:
    """Commits for ever, each built on the one before, saying when each begins."""
    state = LocalState(path, [SPEC])
    number = 1
    ends = Accepted()
    state.prepare(ends, Changelogs().read)
    while True:
        fill(state, number)
        print(number, flush=True)
        stamp = Stamp("i", number, "a")
        state.commit(stamp, ends)
        ends = Accepted(stamp, {"s": KEYS * number})
        number += 1


def look(path: Path) -> None:
    """The stamp and the values on disk, whatever they are."""
    reader = LocalReader(path, [SPEC])
    stamp = reader.renew()
    values = {value.decode() for _, value in reader.backend("s").range(None, None)}
    print(stamp.commit if stamp else 0, *sorted(values), flush=True)


def crowded(path: Path, limit: int) -> None:
    """A commit with no room on the disk, as far as this process may write."""
    state = LocalState(path, [SPEC])
    state.prepare(accepted(1), logs_of(1).read)
    store: Any = state.store("s", key=TEXT, value=TEXT)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    for number in range(20_000):
        store.put(f"more-{number}", "x" * 1_000)
    try:
        state.commit(Stamp("i", 2, "a"), accepted(1))
    except DiskFullError as error:
        print(error, flush=True)
    state.rollback()
    print(state.prepare(accepted(1), Changelogs().read).kind, {value for _, value in store.all()}, flush=True)


def crowded_restore(path: Path, limit: int) -> None:
    """A restore with no room on the disk, and again when there is some."""
    logs = Changelogs(chunk=5_000)
    logs.publish({"s": [(f"key-{key}".encode(), b"x" * 300, 0) for key in range(30_000)]})
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
    state = LocalState(path, [SPEC])
    try:
        state.prepare(logs.accepted(Stamp("i", 1, "a")), logs.read)
    except DiskFullError as error:
        print(error, flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    recovery = state.prepare(logs.accepted(Stamp("i", 1, "a")), logs.read)
    print(recovery.kind, recovery.records, state.backend("s").count(), flush=True)


def run(what: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run one of these in a process of its own."""
    return subprocess.run(
        command(what, *arguments), capture_output=True, text=True, env=environment(), check=False
    )


def start(what: str, *arguments: object) -> subprocess.Popen[str]:
    """Start one of these."""
    return subprocess.Popen(command(what, *arguments), stdout=subprocess.PIPE, text=True, env=environment())


def command(what: str, *arguments: object) -> list[str]:
    return [sys.executable, __file__, what, *map(str, arguments)]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


if __name__ == "__main__":
    name, path, *rest = sys.argv[1:]
    known = (make, check, endless, look, crowded, crowded_restore)
    {what.__name__: what for what in known}[name](
        Path(path), *(int(part) if part.isdigit() else part for part in rest)
    )
