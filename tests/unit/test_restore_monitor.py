"""The way from a worker that restores to the driver that shows it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from headrace.restore.monitor import RestoreMonitor
from headrace.restore.progress import RestoreProgress
from headrace.spark.commit import Report, Restored, encode
from headrace.spark.restores import Channel, Hello, RestoreEvent, RestoreReporter


@pytest.fixture
def monitor() -> Iterator[RestoreMonitor]:
    made = RestoreMonitor()
    yield made
    made.close()


def event(kind: str = "progress", offset: int = 500, **more: object) -> RestoreEvent:
    fields = {"task": "0_1", "store": "counts", "topic": "app-counts-changelog", "partition": 1, **more}
    return RestoreEvent(kind, start=0, end=1000, offset=offset, records=offset, bytes=10 * offset, **fields)  # type: ignore[arg-type]


def wait_for(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_events_of_several_workers_become_one_progress(monitor: RestoreMonitor) -> None:
    heard: list[RestoreEvent] = []
    monitor.subscribe(heard.append)
    channel = monitor.open()
    reporters = [RestoreReporter(channel), RestoreReporter(channel)]
    assert monitor.progress() is None
    reporters[0].send(event("start", 0))
    reporters[0].send(event("progress", 500))
    reporters[1].send(event("progress", 100, task="0_0"))
    reporters[1].send(event("waiting", 0, task="0_2"))
    wait_for(lambda: (p := monitor.progress()) is not None and p.stores == 3)
    progress = monitor.progress()
    assert progress is not None
    assert (progress.tasks, progress.records, progress.done, progress.total) == (3, 600, 600, 3000)
    assert progress.seconds_left is not None
    assert "20 %" in str(progress)
    assert "left" in str(progress)
    wait_for(lambda: len(heard) == 3)
    assert {one.kind for one in heard} == {"start", "progress"}
    for reporter in reporters:
        reporter.close()


def test_a_stranger_is_not_listened_to(monitor: RestoreMonitor) -> None:
    channel = monitor.open()
    heard: list[RestoreEvent] = []
    monitor.subscribe(heard.append)
    for line in (encode(Hello("guess")), b"\xff\x00", b"[]", b"x" * 100_000):
        with socket.create_connection((channel.host, channel.port)) as stranger:
            stranger.sendall(line + b"\n" + encode(event()) + b"\n")
            stranger.settimeout(30)
            with suppress(ConnectionResetError):
                assert stranger.recv(1) == b"", "the driver hangs up"
    reporter = RestoreReporter(channel)
    reporter.send(event("start", 0))
    wait_for(lambda: heard)
    assert [one.kind for one in heard] == ["start"]
    reporter.close()


def test_a_driver_that_cannot_be_reached_does_not_stop_a_restore() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    reporter = RestoreReporter(Channel("127.0.0.1", port, "token"))
    reporter.send(event())
    assert not reporter.is_on


def report(records: int = 1000) -> Report:
    done = Restored("counts", "app-counts-changelog", 0, 1000, records, 9000, 0.5)
    return Report("0_1", began=100.0, seconds={"prepare": 0.5}, restores=[done])


def test_listeners_hear_of_restores_that_were_too_short_to_be_told(monitor: RestoreMonitor) -> None:
    heard: list[RestoreEvent] = []
    monitor.subscribe(heard.append)
    summary = monitor.committed([report(), Report("0_2")])
    assert [(one.kind, one.task, one.partition, one.records) for one in heard] == [
        ("start", "0_1", 1, 0),
        ("end", "0_1", 1, 1000),
    ]
    assert summary is not None
    assert (summary.records, summary.bytes, summary.seconds, summary.rate) == (1000, 9000, 0.5, 2000)
    assert monitor.progress() is None
    assert monitor.committed([Report("0_1")]) is None
    assert monitor.last == summary


def test_each_event_comes_once(monitor: RestoreMonitor) -> None:
    heard: list[str] = []
    monitor.subscribe(lambda one: heard.append(one.kind))
    reporter = RestoreReporter(monitor.open())
    reporter.send(event("start", 0))
    reporter.send(event("end", 1000))
    wait_for(lambda: len(heard) == 2)
    monitor.committed([report()])
    assert heard == ["start", "end"]
    reporter.close()


def test_a_batch_that_fails_suspends_what_was_under_way(monitor: RestoreMonitor) -> None:
    heard: list[str] = []
    monitor.subscribe(lambda one: heard.append(one.kind))
    reporter = RestoreReporter(monitor.open())
    reporter.send(event("start", 0))
    wait_for(lambda: heard)
    monitor.interrupted()
    assert heard == ["start", "suspended"]
    assert monitor.progress() is None
    reporter.close()


def test_a_listener_that_raises_does_no_harm(
    monitor: RestoreMonitor, caplog: pytest.LogCaptureFixture
) -> None:
    def wrong(one: RestoreEvent) -> None:
        raise ValueError("no")

    heard: list[str] = []
    monitor.subscribe(wrong)
    monitor.subscribe(lambda one: heard.append(one.kind))
    monitor.committed([report()])
    assert heard == ["start", "end"]
    assert "a restore listener raised" in caplog.text


def test_time_left_is_unknown_before_the_first_record() -> None:
    progress = RestoreProgress.of([event("start", 0)], 0.1)
    assert progress.seconds_left is None
    assert str(progress).startswith("restoring 1 store of 1 task: 0 %")
