"""`processing_guarantee="at_least_once"`: outputs are seen at once; a kill may double some, and never loses one."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from log_contract import committed, some

from headrace import StreamsBuilder, Topology
from headrace.errors import AlreadyRunningError, FencedError
from headrace.log import LogConfig, Publication, TopicLog, TopicPartition, open_log
from headrace.log.kafka import lease
from tests.kafka.broker import Broker
from tests.kafka.processes import PUBLISH, line, python
from tests.spark.harness import Application, append, encoded, flat
from tests.spark.harness.processes import Driver

KILLS = 3
TODAY = time.time_ns() // 1_000_000


def make_topics(log: TopicLog, name: str) -> None:
    for topic in ("in", "out", "store-changelog"):
        log.create_topic(f"{name}-{topic}", 2)


def weaker(broker: Broker) -> TopicLog:
    return open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers, transactions=False))


def test_a_kill_may_double_but_never_loses(log: TopicLog, broker: Broker, name: str) -> None:
    make_topics(log, name)
    code = PUBLISH.replace("bootstrap_servers=servers", "bootstrap_servers=servers, transactions=False")
    assert code != PUBLISH
    for _ in range(KILLS):
        process = python(code, broker.bootstrap_servers, name)
        line(process)
        line(process)
        time.sleep(random.random() * 0.05)
        process.kill()
        process.communicate()
    last = int(log.committed(name) or b"0")
    assert last >= KILLS
    for topic in (f"{name}-out", f"{name}-store-changelog"):
        found = Counter(filter(None, committed(log, topic, 10 * last)))
        # All ten of every batch that counts, at least; of batches beyond it what was under way.
        assert all(found[b"%d" % number] >= 10 for number in range(1, last + 1))
        assert sum(found.values()) <= 10 * (last + KILLS)


def test_outputs_are_seen_before_the_commit_and_positions_after_it(
    log: TopicLog, broker: Broker, name: str
) -> None:
    make_topics(log, name)
    publisher = weaker(broker).publisher(name)
    seen: list[int] = []

    def commit(ends: object) -> bytes:
        seen.append(len(committed(log, f"{name}-out", 3)))
        assert log.committed(name) is None
        return b"1"

    publisher.publish(
        Publication(
            [some(f"{name}-out", 3, 0)],
            [some(f"{name}-store-changelog", 3, 0)],
            {TopicPartition(f"{name}-in", 0): 7},
            commit,
            {"topology": b"as it was"},
        )
    )
    assert seen == [3]
    assert publisher.last_commit() == log.committed(name) == b"1"
    assert log.committed(name, "topology") == b"as it was"
    publisher.close()
    assert log.positions(name) == {TopicPartition(f"{name}-in", 0): 7}
    # The other way round: what is written without transactions goes on with them.
    again = log.publisher(name)
    assert again.last_commit() == b"1"
    again.close()


def test_whoever_was_taken_over_stops(
    log: TopicLog, broker: Broker, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "HEARTBEAT_SECONDS", 0.05)
    make_topics(log, name)
    first = weaker(broker).publisher(name)
    with pytest.raises(AlreadyRunningError):
        weaker(broker).publisher(name)
    second = weaker(broker).publisher(name, take_over=True)
    empty = Publication([], [], {}, lambda ends: b"2")

    def publish_on() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            first.publish(empty)
            time.sleep(0.02)

    with pytest.raises(FencedError, match="was taken over by another process"):
        publish_on()
    second.publish(empty)
    first.close()
    second.close()


def counting() -> Topology:
    builder = StreamsBuilder()
    counts = (
        builder.stream("in", value=int).group_by(lambda key, value: f"k{value % 3}").count(store="counts")
    )
    counts.to_stream().to("out")
    return builder.build()


def test_an_application_runs_at_least_once(application: Callable[..., Application], broker: Broker) -> None:
    app = application(counting(), partitions=2, processing_guarantee="at_least_once")
    # As a first batch leaves it that was killed before its commit.
    changelog = f"{app.config.application_id}-counts-changelog"
    app.log.create_topic(changelog, 2, {"cleanup.policy": "compact"})
    append(app.log, {changelog: [encoded("k1", b"\0" * 16, TODAY)]})
    app.start()
    app.feed(*({"in": [encoded(f"a{n}", n, TODAY) for n in range(first, first + 5)]} for first in (0, 5)))
    app.stop()
    app.start()
    app.feed({"in": [encoded("b", 1, TODAY)]})
    assert app.streams is not None
    assert dict(app.streams.store("counts").all()) == {"k0": 4, "k1": 4, "k2": 3}
    assert len(flat(app.read("out"))) == 11


APP = """
from headrace import StreamsBuilder

builder = StreamsBuilder()
grouped = builder.stream("{name}-in", value=int).group_by(lambda key, value: f"k{{value % 3}}")
grouped.count(store="counts").to_stream().to("{name}-out")
topology = builder.build()
config = dict(application_id="{name}", processing_guarantee="at_least_once")
"""


def test_a_driver_that_is_killed_before_its_commit_record_doubles_a_batch_and_loses_nothing(
    log: TopicLog, broker: Broker, name: str, tmp_path: Path
) -> None:
    app = tmp_path / "at_least_once_app.py"
    app.write_text(APP.format(name=name))
    points = tmp_path / "failpoints"
    points.mkdir()
    for topic in ("in", "out"):
        log.create_topic(f"{name}-{topic}", 2)
    append(log, {f"{name}-in": [encoded(f"a{n}", n, TODAY) for n in range(30)]})
    servers = ("--bootstrap-servers", broker.bootstrap_servers, "--until-caught-up")
    (points / "publish.flushed").touch()
    with Driver(app, *servers, environment={"HEADRACE_FAILPOINTS": str(points)}) as driver:
        assert driver.wait() == -signal.SIGKILL
    assert log.committed(name) is None
    assert len(committed(log, f"{name}-out", 30)) == 30
    with Driver(app, *servers) as driver:
        assert driver.wait() == 0, driver.text
    found = Counter(committed(log, f"{name}-out", 60))
    # Ten counts of each of three keys, each twice.
    assert sum(found.values()) == 60
    assert set(found.values()) == {6}
    positions = log.positions(name)
    assert sum(positions.values()) == 30
