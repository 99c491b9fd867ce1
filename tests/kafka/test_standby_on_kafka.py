"""Standbys and restore drills on a broker; the application runs its batches in this process."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.cli.main import main
from headrace.log.base import TopicLog
from headrace.restore.recorded import newest_commit, recorded
from headrace.restore.standby import Standby
from tests.chaos import counting_app
from tests.kafka.broker import Broker
from tests.spark.harness.sparkless import Sparkless

BIG = ("0_0", "0_1")
"""The tasks whose keys are many."""


NOW = time.time_ns() // 1_000_000
"""A broker deletes old sessions by the clock: those of another year would be gone from the changelog at any moment."""


def words(begin: int, count: int) -> list[tuple[bytes, bytes, int]]:
    return [(b"k%d" % number, b"a%d" % number, NOW + number) for number in range(begin, begin + count)]


@pytest.fixture
def app(broker: Broker, log: TopicLog, name: str, tmp_path: Path) -> Iterator[Sparkless]:
    before = set(log.topics())
    made = Sparkless(
        counting_app.topology,
        tmp_path,
        application_id=name,
        partitions=2,
        together=True,
        bootstrap_servers=broker.bootstrap_servers,
    )
    try:
        yield made.start()
    finally:
        made.close()
        for topic in set(log.topics()) - before:
            log.delete_topic(topic)


def wait_for(condition: Callable[[], bool]) -> None:
    """The broker takes a moment to show what was committed."""
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_copy_follows_changelogs_on_a_broker_and_is_taken_over(
    app: Sparkless, broker: Broker, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app.fed("in", words(0, 3_000))
    wait_for(lambda: app.log.committed(name) is not None)
    standby = Standby(recorded(app.topology, app.config, app.log), app.log)
    assert standby.follow().commit == 1
    app.fed("in", words(3_000, 200))
    wait_for(lambda: standby.follow().commit == 2)
    assert standby.follow().records < 2 * 3_200 + 1_000
    standby.close()
    app.fed("in", words(3_200, 50))
    wait_for(lambda: newest_commit(app.log, name).number == 3)
    where = ["--application-id", name, "--bootstrap-servers", broker.bootstrap_servers]
    file = str(Path(counting_app.__file__))
    command = ["drill", "restore", file, *where, "--data-dir", str(tmp_path), "--format", "json", "--quiet"]
    assert main(command) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["stores"]["counts"]["keys"] == 3_250
    assert (told["differing"], told["uncompared"]) == (0, {})
    before = app.content("counts")
    app.stop()
    shutil.rmtree(app.config.state_path)
    app.start()
    batch = app.fed("in", words(0, 1))
    found = {report.task: report for report in batch.reports if report.task in BIG}
    assert {report.recovery for report in found.values()} == {"taken_over"}
    assert 0 < sum(report.restored for report in found.values()) < 500
    after = app.content("counts")
    assert after.keys() == before.keys()
    assert {key for key in after if after[key] != before[key]} == {b"k0"}
