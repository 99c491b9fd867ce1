"""A process dies or waits at a named point, if a file says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = "from headrace.failpoints import failpoint; failpoint('here'); print('passed')"


def start(folder: Path | None) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if name != "HEADRACE_FAILPOINTS"}
    if folder is not None:
        environment["HEADRACE_FAILPOINTS"] = str(folder)
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True
    )


def test_nothing_happens_where_nothing_is_asked_for(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        assert start(folder).communicate(timeout=60)[0] == "passed\n"


def test_the_first_process_that_passes_dies(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    first = start(tmp_path)
    assert first.communicate(timeout=60)[0] == ""
    assert first.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []
    assert start(tmp_path).communicate(timeout=60)[0] == "passed\n"


def test_a_process_is_held_until_it_may_go_on(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("hold")
    process = start(tmp_path)
    held = tmp_path / "here.held"
    until = time.monotonic() + 60
    while not (held.exists() and held.read_text() == str(process.pid)):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.005)
    held.unlink()
    assert process.communicate(timeout=60)[0] == "passed\n"
