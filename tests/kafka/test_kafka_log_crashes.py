"""Kills, zombies, lost answers and time-outs: every publication counts once, or not at all."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Iterator, Mapping

import pytest
from log_contract import committed, some, values

from headrace.errors import AlreadyRunningError, LogError
from headrace.log import LogConfig, Publication, TopicLog, TopicPartition, open_log
from tests.kafka.broker import Broker
from tests.kafka.processes import PUBLISH, line, python
from tests.kafka.proxy import END_TXN, Proxy

KILLS = 3


@pytest.fixture
def proxy(broker: Broker) -> Iterator[Proxy]:
    broker.proxy.mend()
    yield broker.proxy
    broker.proxy.mend()


def make_topics(log: TopicLog, name: str) -> None:
    for topic in ("in", "out", "store-changelog"):
        log.create_topic(f"{name}-{topic}", 2)


def publication(name: str, number: int) -> Publication:
    return Publication(
        [some(f"{name}-out", 3, 3 * number)],
        [some(f"{name}-store-changelog", 3, 3 * number)],
        {TopicPartition(f"{name}-in", 0): number},
        lambda ends: b"%d" % number,
    )


def mend_after(proxy: Proxy, seconds: float) -> threading.Thread:
    """Mends the proxy some time after it has lost the answer."""

    def mend() -> None:
        proxy.swallowed.wait(30)
        time.sleep(seconds)
        proxy.mend()

    thread = threading.Thread(target=mend)
    thread.start()
    return thread


def assert_published_once(log: TopicLog, name: str, batches: int) -> None:
    expected = sorted(b"v%d" % i for i in range(3 * batches))
    for topic in (f"{name}-out", f"{name}-store-changelog"):
        assert sorted(filter(None, committed(log, topic, 3 * batches))) == expected


def test_kill_9_leaves_whole_commits_only(log: TopicLog, broker: Broker, name: str) -> None:
    make_topics(log, name)
    seen = 0
    for _ in range(KILLS):
        process = python(PUBLISH, broker.bootstrap_servers, name)
        started = int(line(process).removeprefix("start "))
        assert started >= seen
        line(process)
        time.sleep(random.random() * 0.05)
        process.kill()
        seen = max(map(int, process.communicate()[0].split()), default=started)
    publisher = log.publisher(name)
    last = int(publisher.last_commit() or b"0")
    publisher.close()
    assert last >= seen
    assert log.positions(name) == {TopicPartition(f"{name}-in", 0): last}
    expected = sorted(b"%d" % number for number in range(1, last + 1) for _ in range(10))
    for topic in (f"{name}-out", f"{name}-store-changelog"):
        assert sorted(filter(None, committed(log, topic, 10 * last))) == expected


def test_a_zombie_is_fenced(log: TopicLog, broker: Broker, name: str) -> None:
    make_topics(log, name)
    zombie = python(PUBLISH, broker.bootstrap_servers, name)
    try:
        for _ in range(3):
            line(zombie)
        zombie.send_signal(signal.SIGSTOP)
        with pytest.raises(AlreadyRunningError, match=f"process {zombie.pid} on host"):
            log.publisher(name)
        publisher = log.publisher(name, take_over=True)
        last = int(publisher.last_commit() or b"0")
        publisher.publish(publication(name, 500))
        zombie.send_signal(signal.SIGCONT)
        said = zombie.communicate(timeout=60)[0]
    finally:
        zombie.kill()
    assert said.splitlines()[-1].startswith("FencedError")
    publisher.publish(publication(name, 501))
    publisher.close()
    own = sorted(b"%d" % number for number in range(1, last + 1) for _ in range(10))
    found = sorted(filter(None, committed(log, f"{name}-out", len(own) + 6)))
    assert found == sorted(own + [b"v%d" % i for i in range(1500, 1506)])


def test_the_answer_to_a_commit_is_lost(log: TopicLog, broker: Broker, proxy: Proxy, name: str) -> None:
    """librdkafka asks again by itself when the connection breaks; the commit must not count twice."""
    make_topics(log, name)
    publisher = open_log(LogConfig(bootstrap_servers=broker.proxied_servers)).publisher(name)
    publisher.publish(publication(name, 0))
    proxy.swallow_answer(END_TXN, cut=True)
    mender = mend_after(proxy, 1)
    publisher.publish(publication(name, 1))
    mender.join()
    assert proxy.swallowed.is_set()
    publisher.publish(publication(name, 2))
    assert publisher.last_commit() == b"2"
    publisher.close()
    assert_published_once(log, name, 3)


def test_a_commit_in_doubt_is_settled_by_the_log(
    log: TopicLog,
    broker: Broker,
    proxy: Proxy,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The answer is lost, and the broker away for longer than the commit is tried: the new producer finds out."""
    make_topics(log, name)
    monkeypatch.setattr("headrace.log.kafka.transaction.PATIENCE", 3.0)
    publisher = open_log(LogConfig(bootstrap_servers=broker.proxied_servers)).publisher(name)
    publisher.publish(publication(name, 0))
    for number in (1, 2):
        proxy.swallow_answer(END_TXN, cut=True)
        mender = mend_after(proxy, 5)
        publisher.publish(publication(name, number))
        mender.join()
        assert proxy.swallowed.is_set()
    assert [record.getMessage().rpartition(" is ")[2] for record in caplog.records] == ["there", "there"]
    publisher.publish(publication(name, 3))
    publisher.close()
    assert_published_once(log, name, 4)


def test_a_commit_that_never_arrived_is_published_again(
    log: TopicLog, broker: Broker, proxy: Proxy, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_topics(log, name)
    monkeypatch.setattr("headrace.log.kafka.transaction.PATIENCE", 3.0)
    publisher = open_log(LogConfig(bootstrap_servers=broker.proxied_servers)).publisher(name)
    calls = []

    def cut_once(ends: Mapping[TopicPartition, int]) -> bytes:
        calls.append(ends)
        if len(calls) == 1:
            proxy.cut()
            threading.Timer(5, proxy.mend).start()
        return b"0"

    first = publication(name, 0)
    publisher.publish(Publication(first.outputs, first.changelogs, first.positions, cut_once))
    assert len(calls) == 2
    publisher.publish(publication(name, 1))
    publisher.close()
    assert_published_once(log, name, 2)


def test_a_transaction_that_was_open_for_too_long_is_published_again(
    log: TopicLog, broker: Broker, name: str
) -> None:
    make_topics(log, name)
    settings = {"transaction.timeout.ms": "1000", "socket.timeout.ms": "1000"}
    publisher = open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers, kafka=settings)).publisher(
        name
    )
    calls = []

    def slow_once(ends: Mapping[TopicPartition, int]) -> bytes:
        calls.append(ends)
        if len(calls) == 1:
            time.sleep(3)
        return b"0"

    first = publication(name, 0)
    publisher.publish(Publication(first.outputs, first.changelogs, first.positions, slow_once))
    publisher.publish(publication(name, 1))
    publisher.close()
    assert len(calls) == 2
    assert_published_once(log, name, 2)


def test_a_record_that_is_too_large_is_named_and_nothing_is_published(log: TopicLog, name: str) -> None:
    make_topics(log, name)
    log.create_topic(f"{name}-small", 1, {"max.message.bytes": "1000"})
    publisher = log.publisher(name)
    outputs = [some(f"{name}-out", 1), some(f"{name}-small", 1)]
    outputs[1].values = [bytes(100_000)]
    with pytest.raises(LogError, match=rf"`{name}-small`, partition 0: .*too large"):
        publisher.publish(Publication(outputs, [], {}, lambda ends: b"0"))
    assert publisher.last_commit() is None
    publisher.publish(publication(name, 0))
    publisher.close()
    assert_published_once(log, name, 1)
    assert values(log, f"{name}-small") == []
