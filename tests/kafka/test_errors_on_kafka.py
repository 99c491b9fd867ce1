"""What can be wrong with Kafka, said in one message each: exit code 1, and no stack trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.log import TopicLog
from tests.chaos import counting_app
from tests.chaos.checks import TOPICS, some_parts
from tests.chaos.drivers import Drivers, drivers
from tests.kafka.broker import Broker
from tests.spark.harness import Application, append


@pytest.fixture
def processes(name: str, tmp_path: Path) -> Iterator[Drivers]:
    options = ("--application-id", name, "--data-dir", str(tmp_path), "--quiet")
    with drivers(tmp_path, counting_app.__file__, *options) as made:
        yield made


def failure(processes: Drivers, *options: str) -> str:
    """What a process says before it ends with code 1."""
    driver = processes.start(*options)
    assert driver.wait() == 1, driver.said()
    said = driver.said()
    assert "Traceback" not in said
    assert said.startswith("headrace: ")
    return said


def test_no_broker_answers(processes: Drivers) -> None:
    began = time.monotonic()
    said = failure(processes, "--bootstrap-servers", "127.0.0.1:1")
    assert "no Kafka broker answers at `127.0.0.1:1`" in said
    assert "check `bootstrap_servers`" in said
    # Not a question of speed: it must not go on asking for ever.
    assert time.monotonic() - began < 60


def test_a_missing_topic_is_named_with_one_that_is_meant(
    processes: Drivers, broker: Broker, log: TopicLog
) -> None:
    log.create_topic("inn")
    try:
        said = failure(processes, "--bootstrap-servers", broker.bootstrap_servers)
    finally:
        log.delete_topic("inn")
    assert "4 topics do not exist: `in` (did you mean `inn`?; at " in said
    assert (
        f"`headrace topics create in --partitions 4 --bootstrap-servers {broker.bootstrap_servers}`" in said
    )
    assert "`create_topics=True`" in said
    assert "KSTREAM-SOURCE-0000000000" in said
    assert "counting_app.py:" in said


def test_records_that_are_gone_before_they_were_read(
    application: Callable[..., Application], processes: Drivers, broker: Broker, log: TopicLog
) -> None:
    inputs = some_parts(2)
    app = application(counting_app.topology)
    app.run(inputs[:1])
    append(log, inputs[1])
    position = app.batches[-1].commit.positions["in"][0]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    (deleted,) = admin.delete_records([TopicPartition("in", 0, position + 3)]).values()
    deleted.result(timeout=30)
    said = failure(processes, "--bootstrap-servers", broker.bootstrap_servers)
    assert f"topic `in`, partition 0: wanted offsets {position} to " in said
    assert f"available are {position + 3} to " in said
    assert set(TOPICS) <= log.topics().keys()
