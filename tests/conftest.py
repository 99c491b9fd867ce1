"""Options that all tests share; the broker and the Spark session of those that need one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.broker import Broker


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--parity", choices=["sample", "once"], default="sample", help="how much tests/parity compares"
    )


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One real broker for the whole run, started when the first test asks for it."""
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    try:
        yield broker.start()
    finally:
        broker.close()


@pytest.fixture(scope="session")
def failpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder: a file in it kills the next worker that passes the point of its name."""
    return tmp_path_factory.mktemp("failpoints")


@pytest.fixture(scope="session")
def spark(failpoints: Path) -> Iterator[None]:
    """One session for the whole run, since starting one takes longer than most tests; applications find and use it."""
    # Late, because other tests of the same run may need no Spark at all.
    from headrace.spark.session import release, session

    before = dict(os.environ)
    os.environ["HEADRACE_FAILPOINTS"] = str(failpoints)
    made = session(None, "tests", {})
    yield
    release(made)
    os.environ.clear()
    os.environ.update(before)
