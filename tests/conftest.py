"""Options that all tests share, and the broker of those that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kafka.broker import Broker


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=3, help="processes to kill in a test of tests/chaos")
    parser.addoption("--kafka-kills", type=int, default=3, help="the same for tests on a Kafka broker")


@pytest.fixture(scope="session")
def kills(request: pytest.FixtureRequest) -> int:
    """How many processes a chaos test on the embedded log kills."""
    return int(request.config.getoption("--kills"))


@pytest.fixture(scope="session")
def kafka_kills(request: pytest.FixtureRequest) -> int:
    """How many processes a chaos test on Kafka kills."""
    return int(request.config.getoption("--kafka-kills"))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One real broker for the whole run, started when the first test asks for it."""
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    try:
        yield broker.start()
    finally:
        broker.close()
