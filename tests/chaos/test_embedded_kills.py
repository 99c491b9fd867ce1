"""Killed drivers and workers on the embedded log: topics and stores hold what the test driver makes, once."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from headrace.app import Streams
from headrace.failpoints import IN_DRIVER, IN_PLANNER, IN_WORKER
from headrace.log import TopicPartition
from headrace.log.embedded import EmbeddedLog
from headrace.serdes import serde_for
from tests.chaos import kafka_app, random_app
from tests.chaos.drivers import Driver, Drivers, drivers
from tests.chaos.kafka_app import Totals
from tests.chaos.kafka_checks import PARTITIONS, TOPICS, check_stores
from tests.spark.harness import Part, append, by_key, flat, read_topic, reference
from tests.spark.harness.inputs import of_partition, parts

ANY_TIME = ("driver at any time", "worker at any time")
POINTS = (
    # The hardest first: a short run has only these.
    "local_commit.after",
    "publish.sent",
    "worker at any time",
    "publish.committed",
    "driver at any time",
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


def kill_all(
    log: EmbeddedLog, made: Drivers, inputs: Sequence[Part], kills: int, say: pytest.CaptureFixture[str]
) -> Driver:
    """Feed all input, with so many kills on the way; the driver that runs in the end."""
    driver = made.start()
    began = time.monotonic()
    for number in range(kills):
        point = POINTS[number % len(POINTS)]
        if point in ANY_TIME:
            append(log, inputs[number])
            driver.wait_until_running()
            time.sleep(random.random() / 2)
            if point == ANY_TIME[0]:
                driver.process.kill()
            else:
                driver.kill_a_worker()
        else:
            driver.arm(point)
            append(log, inputs[number])
            driver.wait_until_hit(point)
        if point in (*IN_DRIVER, ANY_TIME[0]):
            assert driver.wait() == -9
            driver = made.start()
        with say.disabled():
            print(f"\n  kill {number + 1} of {kills}: {point}, {time.monotonic() - began:.0f} s", end="")
    for part in inputs[kills:]:
        append(log, part)
    driver.wait_until_running()
    wait_until_committed(log)
    return driver


def wait_until_committed(log: EmbeddedLog) -> None:
    places = [TopicPartition("in", number) for number in range(PARTITIONS)]
    deadline = time.monotonic() + 120
    while log.positions("app") != log.latest(places):
        assert time.monotonic() < deadline, f"committed is {log.positions('app')}"
        time.sleep(0.05)


def test_nothing_is_lost_and_nothing_is_doubled(
    log: EmbeddedLog, tmp_path: Path, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = parts("in", count=kills + 1, size=60, keys=20, late=120)
    with running(tmp_path, kafka_app.__file__) as made:
        driver = kill_all(log, made, inputs, kills, capsys)
        driver.process.terminate()
        assert driver.wait() == 0, driver.said()
        # After a mere crash nothing is rebuilt: the stores on disk go on where they were.
        assert "restored" not in driver.said()
    counts, sessions = read_topic(log, "counts"), read_topic(log, "sessions")
    for number in range(PARTITIONS):
        expected = reference(kafka_app.topology, of_partition(inputs, number, PARTITIONS))
        assert counts[number] == expected.outputs.get("counts", [])
        assert sessions[number] == expected.outputs.get("sessions", [])
    # The order between partitions is that of time inside a batch, and where batches end depends on the kills;
    # but each of a letter's records counts one, and together they count all.
    totals, decode = by_key(flat(read_topic(log, "totals"))), serde_for(Totals).deserialize
    everything = by_key(reference(kafka_app.topology, inputs).outputs["totals"])
    assert totals.keys() == everything.keys()
    for key, records in totals.items():
        found = [decode(record.value or b"") for record in records]
        assert [each.count for each in found] == list(range(1, len(everything[key]) + 1))
        assert found[-1] == decode(everything[key][-1].value or b"")
    with Streams(kafka_app.topology, application_id="app", data_dir=str(tmp_path / "data")) as streams:
        streams.wait_until_running()
        check_stores(streams, inputs)
        assert streams.metrics.restored == 0


def test_a_function_that_answers_differently_each_time_counts_once(
    log: EmbeddedLog, tmp_path: Path, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = parts("in", count=kills + 1, size=40, keys=10)
    with running(tmp_path, random_app.__file__) as made:
        driver = kill_all(log, made, inputs, kills, capsys)
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
