"""What driver, planner and tasks tell each other through a file."""

from __future__ import annotations

import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from headrace.beside import Beside
from headrace.errors import LogError
from headrace.spark import progress
from headrace.spark.commit import CommitRecord
from headrace.spark.progress import Progress, ProgressFile


def commit(number: int) -> CommitRecord:
    return CommitRecord("incarnation", number, 0, {})


def test_a_task_waits_for_the_commit_under_its_batch(tmp_path: Path) -> None:
    driver, task = (ProgressFile(tmp_path / "progress.json") for _ in range(2))
    driver.write(Progress(commit(3), ahead=commit(4)))
    found: list[CommitRecord] = []
    waiting = threading.Thread(target=lambda: found.append(task.settled(4)))
    waiting.start()
    waiting.join(0.05)
    assert not found
    driver.write(Progress(commit(4)))
    waiting.join(10)
    assert [record.number for record in found] == [4]


def test_a_commit_that_failed_is_not_waited_for(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path / "progress.json")
    file.write(Progress(commit(3), ahead=commit(4)))
    assert file.settled(3).number == 3
    file.give_up()
    with pytest.raises(LogError, match="commit 4 could not be published"):
        file.settled(4)


def test_no_two_contents_look_the_same_however_quickly_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress.time, "time_ns", lambda: 5_000_000)  # as coarse as a kernel may be
    driver, task = (ProgressFile(tmp_path / "progress.json") for _ in range(2))
    for number in range(20):
        driver.write(Progress(commit(number)))
        if number % 2:  # the file system gives the first file's number to the third
            assert task.read().base.number == number


def test_the_way_of_a_batch_is_told(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path / "progress.json")
    assert not file.is_wide()
    file.shape(wide=True)
    assert file.is_wide()
    file.shape(wide=False)
    assert not file.is_wide()


def test_work_beside_raises_where_it_is_waited_for() -> None:
    beside = Beside()

    def fail() -> None:
        raise LogError("no broker")

    beside.start(fail)
    beside.join(10)
    with pytest.raises(LogError, match="no broker"):
        beside.start(lambda: None)
    beside.start(lambda: None)
    beside.wait()


def test_two_that_work_beside_bring_the_usual_switching_of_threads_back() -> None:
    """The one that begins last ends last: what it found at its begin is not what is usual."""
    usual = sys.getswitchinterval()
    first, second = Beside(), Beside()
    first_may_end, second_may_end = threading.Event(), threading.Event()
    first.start(partial(_wait, first_may_end))
    second.start(partial(_wait, second_may_end))
    first_may_end.set()
    first.wait()
    second_may_end.set()
    second.wait()
    assert sys.getswitchinterval() == usual


def _wait(event: threading.Event) -> None:
    event.wait(10)
