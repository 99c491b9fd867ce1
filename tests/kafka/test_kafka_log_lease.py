"""A second start of an application is refused while the first one lives, on this host or on another."""

from __future__ import annotations

import time

import msgspec
import pytest
from log_contract import committed, some

from headrace.errors import AlreadyRunningError, LogError
from headrace.log import Outgoing, Publication, TopicLog
from headrace.log.commits import LEASE_KEY, check_changelogs, commits_topic
from headrace.log.kafka.lease import Lease
from headrace.log.kafka.process import Process
from tests.kafka.broker import Broker
from tests.kafka.processes import PUBLISH, line, python


def write_lease(log: TopicLog, name: str, age: float, *, released: bool = False) -> None:
    """What a process of another host would have written `age` seconds ago."""
    process = Process("elsewhere", "another-boot", "pid:[1]", 42, "100")
    lease = Lease("somebody", 7, process, time.time() - age, released)
    log.append([Outgoing(commits_topic(name), [LEASE_KEY], [msgspec.json.encode(lease)], [1])])


def test_the_process_that_runs_is_named_and_a_dead_one_is_free_at_once(
    log: TopicLog, broker: Broker, name: str
) -> None:
    for topic in ("out", "store-changelog", "in"):
        log.create_topic(f"{name}-{topic}")
    process = python(PUBLISH, broker.bootstrap_servers, name)
    try:
        line(process)
        with pytest.raises(
            AlreadyRunningError, match=f"`{name}` is already running: process {process.pid} on"
        ):
            log.publisher(name)
        line(process)
    finally:
        process.kill()
        process.communicate()
    log.publisher(name).close()


def test_a_holder_on_another_host_counts_while_its_heart_beats(log: TopicLog, name: str) -> None:
    log.publisher(name).close()
    write_lease(log, name, age=10)
    with pytest.raises(AlreadyRunningError, match="process 42 on host `elsewhere`"):
        log.publisher(name)
    log.publisher(name, take_over=True).close()
    write_lease(log, name, age=16)
    log.publisher(name).close()
    write_lease(log, name, age=1, released=True)
    log.publisher(name).close()


def test_the_lease_is_found_behind_many_commits(log: TopicLog, name: str) -> None:
    log.publisher(name).close()
    write_lease(log, name, age=0)
    log.append([Outgoing(commits_topic(name), [b"other"] * 3000, [b"x"] * 3000, [1] * 3000)])
    with pytest.raises(AlreadyRunningError, match="elsewhere"):
        log.publisher(name)


def test_two_starts_at_the_same_moment(log: TopicLog, broker: Broker, name: str) -> None:
    for topic in ("out", "store-changelog", "in"):
        log.create_topic(f"{name}-{topic}")
    processes = [python(PUBLISH, broker.bootstrap_servers, name) for _ in range(3)]
    try:
        said = [line(process) for process in processes]
        assert sorted(text.split()[0] for text in said) == [
            "AlreadyRunningError",
            "AlreadyRunningError",
            "start",
        ]
        winner = processes[[text.split()[0] for text in said].index("start")]
        assert [line(winner), line(winner)] == ["1", "2"]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_changelogs_and_commits_must_belong_together(log: TopicLog, name: str) -> None:
    changelog = f"{name}-store-changelog"
    check_changelogs(log, name, [changelog], None)
    with pytest.raises(LogError, match=f"`{changelog}` is gone"):
        check_changelogs(log, name, [changelog], b"commit")
    log.create_topic(changelog)
    check_changelogs(log, name, [changelog], None)
    publisher = log.publisher(name)
    publisher.publish(Publication([], [some(changelog, 1)], {}, lambda ends: b"commit"))
    check_changelogs(log, name, [changelog], publisher.last_commit())
    publisher.close()
    committed(log, changelog, 1)
    with pytest.raises(LogError, match=f"`{changelog}` has records, but `{name}-commits` has no commit"):
        check_changelogs(log, name, [changelog], None)
