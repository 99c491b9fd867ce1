"""Killed drivers and workers on the embedded log: topics and stores hold what the test driver makes, once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from headrace.app import Streams
from headrace.failpoints import IN_DRIVER, IN_PLANNER, IN_WORKER
from headrace.log.embedded import EmbeddedLog
from tests.chaos import counting_app, random_app
from tests.chaos.checks import PARTITIONS, TOPICS, check_output, check_stores
from tests.chaos.drivers import Drivers, drivers
from tests.chaos.kills import ANY_TIME, kill_all
from tests.spark.harness import by_key, flat, read_topic
from tests.spark.harness.inputs import parts

POINTS = (
    # The hardest first: a short run has only these.
    "local_commit.after",
    "publish.sent",
    ANY_TIME[1],
    "publish.committed",
    ANY_TIME[0],
    *IN_WORKER,
    *IN_DRIVER,
    *IN_PLANNER,
)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EmbeddedLog]:
    with EmbeddedLog(tmp_path / "data" / "log") as opened:
        for topic in (*TOPICS, "ids"):
            opened.create_topic(topic, PARTITIONS)
        yield opened


def running(folder: Path, app: str) -> AbstractContextManager[Drivers]:
    return drivers(folder, app, "--application-id", "app", "--data-dir", str(folder / "data"))


def test_nothing_is_lost_and_nothing_is_doubled(
    log: EmbeddedLog, tmp_path: Path, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = parts("in", count=kills + 1, size=60, keys=20, late=120)
    with running(tmp_path, counting_app.__file__) as made:
        driver = kill_all(log, "app", made, inputs, POINTS, kills, capsys)
        driver.process.terminate()
        assert driver.wait() == 0, driver.said()
        # After a mere crash nothing is rebuilt: the stores on disk go on where they were.
        assert "restored" not in driver.said()
    check_output(partial(read_topic, log), inputs)
    with Streams(counting_app.topology, application_id="app", data_dir=str(tmp_path / "data")) as streams:
        streams.wait_until_running()
        check_stores(streams, inputs)
        assert streams.metrics.restored == 0


def test_a_planner_that_dies_is_started_again(
    log: EmbeddedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark 4.3 would leave the query hanging; here it goes on from the last commit, in the same driver."""
    inputs = parts("in", count=len(IN_PLANNER) + 1, size=60, keys=20)
    with running(tmp_path, counting_app.__file__) as made:
        driver = kill_all(log, "app", made, inputs, IN_PLANNER, len(IN_PLANNER), capsys)
        driver.process.terminate()
        assert driver.wait() == 0, driver.said()
        assert driver.said().count("the Python process that plans batches died") == len(IN_PLANNER)
    check_output(partial(read_topic, log), inputs)


def test_a_function_that_answers_differently_each_time_counts_once(
    log: EmbeddedLog, tmp_path: Path, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = parts("in", count=kills + 1, size=40, keys=10)
    with running(tmp_path, random_app.__file__) as made:
        driver = kill_all(log, "app", made, inputs, POINTS, kills, capsys)
        driver.process.terminate()
        assert driver.wait() == 0, driver.said()
    written = by_key(flat(read_topic(log, "ids")))
    wanted = by_key(record for part in inputs for record in part["in"])
    assert written.keys() == wanted.keys()
    for key, records in wanted.items():
        found = [(record.value or b"").partition(b"-")[0] for record in written[key]]
        assert found == [record.value for record in records]
    # The store has seen the very ids that are in the topic: topic and store count together.
    with Streams(random_app.topology, application_id="app", data_dir=str(tmp_path / "data")) as streams:
        streams.wait_until_running()
        seen = dict(streams.store("seen").all())
    assert seen == {
        (key or b"").decode(): " ".join((record.value or b"").decode() for record in records)
        for key, records in written.items()
    }
