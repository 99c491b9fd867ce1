"""What the tests on Kafka share, beside the broker."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.log import LogConfig, TopicLog, open_log
from headrace.topology.topology import Topology
from tests.kafka.broker import Broker
from tests.spark.harness import Application


@pytest.fixture
def name() -> str:
    """A name for topics and applications that no other test uses."""
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def log(broker: Broker) -> Iterator[TopicLog]:
    log = open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers))
    yield log
    log.close()


@pytest.fixture
def application(
    broker: Broker, log: TopicLog, name: str, tmp_path: Path
) -> Iterator[Callable[..., Application]]:
    """Makes applications in this process; closed at the end, also when the test fails, and their topics deleted."""
    before = set(log.topics())
    made: list[Application] = []

    def make(topology: Topology, **settings: Any) -> Application:
        given = {"application_id": name, "bootstrap_servers": broker.bootstrap_servers, **settings}
        made.append(Application(topology, tmp_path, **given))
        return made[-1]

    yield make
    for app in made:
        app.close()
    for topic in set(log.topics()) - before:
        log.delete_topic(topic)
