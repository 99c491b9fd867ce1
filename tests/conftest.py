"""Options that all tests share; the broker and the Spark session of those that need one."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.kafka.broker import Broker
from tests.quick_java import use_archive


def pytest_configure() -> None:
    """The first process of a run: all others, and what they start, have its environment."""
    use_archive()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As in the background of a script: commands that tests start would ignore it, too, and never end at Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--parity", choices=["sample", "once"], default="sample", help="how much tests/parity compares"
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, None, None]:
    """Name in the end what has failed, in one line each: what is said of them above can be long."""
    yield
    for kind in ("error", "failed"):
        for report in terminalreporter.getreports(kind):
            terminalreporter.write_line(f"{kind.upper()} {report.nodeid}", red=True)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One real broker for all tests of a process, started when the first one asks for it."""
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
    """One session for all tests of a process, since starting one takes longer than most of them; applications find and
    use it.
    """
    # Late, because other tests of the same run may need no Spark at all.
    from headrace.spark.session import release, session

    before = dict(os.environ)
    os.environ["HEADRACE_FAILPOINTS"] = str(failpoints)
    # Several processes of a run have one each, beside brokers and the sessions of applications that tests start.
    made = session(None, "tests", {"spark.driver.memory": "1g"})
    yield
    release(made)
    os.environ.clear()
    os.environ.update(before)
