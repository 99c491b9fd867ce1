"""What the tests on Kafka share, beside the broker."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.log import LogConfig, TopicLog, open_log
from tests.kafka.broker import Broker


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
def application(broker: Broker, name: str, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Makes applications in this process."""
    # Late, because the tests of the log alone need no Spark.
    from tests.kafka.applications import applications

    with applications(broker, tmp_path, name) as make:
        yield make
