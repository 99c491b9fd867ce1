"""The broker that the tests on Kafka share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from headrace.log import LogConfig, TopicLog, open_log
from tests.kafka.broker import Broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One real broker for the whole run."""
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    try:
        yield broker.start()
    finally:
        broker.close()


@pytest.fixture
def name() -> str:
    """A name for topics and applications that no other test uses."""
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def log(broker: Broker) -> Iterator[TopicLog]:
    log = open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers))
    yield log
    log.close()
