"""Many processes at one embedded log, some of them killed: what is read is dense, in order, and of whole appends."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from log_processes import COMPACT, NEWEST, TOPICS, begin, check, follow, keep, write

from headrace.log import Outgoing, TopicPartition
from headrace.log.embedded import EmbeddedLog

ENDLESS = 1_000_000
ROUNDS = 6


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EmbeddedLog]:
    with EmbeddedLog(tmp_path / "log") as log:
        for topic, partitions in TOPICS.items():
            log.create_topic(topic, partitions)
        log.create_topic(NEWEST, 1, COMPACT)
        yield log


@contextmanager
def running(process: BaseProcess) -> Iterator[BaseProcess]:
    """Killed at the end, if it still runs; it must not have ended by itself before."""
    try:
        yield process
    finally:
        if process.is_alive():
            process.kill()
        process.join()


def said(log: EmbeddedLog, writer: str) -> int:
    """How many batches the writer has been told to be there."""
    file = log.directory.parent / f"{writer}.done"
    return file.read_bytes().count(b"\n") if file.exists() else 0


@pytest.mark.parametrize("seed", [1, 2])
def test_processes_write_read_and_compact_at_once(log: EmbeddedLog, seed: int) -> None:
    with ExitStack() as stack:
        for work in (follow, follow, keep):
            stack.enter_context(running(begin(work, log.directory)))
        writers = [begin(write, log.directory, f"w{number}", 40, 10 * seed + number) for number in range(3)]
        for writer in writers:
            stack.enter_context(running(writer))
        for writer in writers:
            writer.join(60)
        assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert check(log) == {"w0": 40, "w1": 40, "w2": 40}
    assert not (log.directory.parent / "wrong").exists(), (log.directory.parent / "wrong").read_text()
    log.maintain()
    assert log.latest([TopicPartition(NEWEST, 0)])[TopicPartition(NEWEST, 0)] == 120
    kept = [chunk.values for chunk in log.read({TopicPartition(NEWEST, 0): (0, 120)})]
    assert sorted(value for values in kept for value in values if value) == [b"39", b"39", b"39"]


def test_kill_9_of_writers_readers_and_upkeep_at_any_moment(log: EmbeddedLog) -> None:
    """Each round kills one of each kind while another writer goes on; whoever comes after finds whole batches only."""
    chance = random.Random(7)
    with running(begin(write, log.directory, "steady", ENDLESS, 0, 0.02)):
        for number in range(ROUNDS):
            victims = [
                begin(write, log.directory, f"w{number}", ENDLESS, number, 0.001),
                begin(follow, log.directory),
                begin(keep, log.directory),
            ]
            deadline = time.monotonic() + 30
            while said(log, f"w{number}") == 0 and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.03))
            for victim in victims:
                victim.kill()
            for victim in victims:
                victim.join()
                assert victim.exitcode == -signal.SIGKILL
            counts = check(log)
            assert said(log, f"w{number}") <= counts[f"w{number}"] <= said(log, f"w{number}") + 1
    assert not (log.directory.parent / "wrong").exists(), (log.directory.parent / "wrong").read_text()
    counts = check(log)
    assert said(log, "steady") <= counts["steady"] <= said(log, "steady") + 1
    log.append([Outgoing("b", [b"k"], [b"after 0 0 1"], [1])])
    assert check(log) == {**counts, "after": 1}
