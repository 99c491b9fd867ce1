"""Drivers that are stopped and fenced: Kafka holds what the test driver writes, each record once."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from headrace.log import LogConfig, TopicLog, open_log
from tests.chaos import counting_app
from tests.chaos.checks import PARTITIONS, TOPICS, check_output, some_parts, wait_until_committed
from tests.chaos.drivers import Drivers, drivers
from tests.kafka.broker import Broker
from tests.kafka.reading import read_committed
from tests.spark.harness import append


@pytest.fixture
def application_id() -> str:
    return f"kills-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def log(broker: Broker) -> Iterator[TopicLog]:
    """With the topics of `counting_app`, which are deleted at the end together with all that are new."""
    log = open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers))
    before = set(log.topics())
    for topic in TOPICS:
        log.create_topic(topic, PARTITIONS)
    yield log
    for topic in set(log.topics()) - before:
        log.delete_topic(topic)
    log.close()


@pytest.fixture
def processes(broker: Broker, application_id: str, tmp_path: Path) -> Iterator[Drivers]:
    """Makes processes that run `counting_app`, one after the other over the same local stores."""
    options = {
        "--application-id": application_id,
        "--bootstrap-servers": broker.bootstrap_servers,
        "--data-dir": str(tmp_path / "data"),
    }
    arguments = [part for option in options.items() for part in option]
    with drivers(tmp_path, counting_app.__file__, *arguments) as made:
        yield made


def test_a_zombie_ends_and_the_process_that_took_over_goes_on(
    log: TopicLog, broker: Broker, processes: Drivers, application_id: str
) -> None:
    inputs = some_parts(4)
    first = processes.start()
    append(log, inputs[0])
    first.wait_until_running()

    refused = processes.start()
    assert refused.wait() == 1
    said = refused.said()
    assert (
        f"headrace: application `{application_id}` is already running: process {first.process.pid} " in said
    )
    assert "--take-over" in said
    assert "Traceback" not in said

    first.send(signal.SIGSTOP)
    append(log, inputs[1])
    second = processes.start("--take-over")
    second.wait_until_running()
    append(log, inputs[2])
    wait_until_committed(log, application_id)
    first.send(signal.SIGCONT)
    assert first.wait() == 1
    said = first.said()
    assert f"headrace: application `{application_id}` was taken over by another process" in said
    assert "Traceback" not in said

    append(log, inputs[3])
    wait_until_committed(log, application_id)
    second.process.terminate()
    assert second.wait() == 0, second.said()
    check_output(partial(read_committed, broker.bootstrap_servers), inputs)
