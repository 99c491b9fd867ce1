"""Applications on a session of the user's, several on one, and what their functions print."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import State, Streams, StreamsBuilder, Topology
from headrace.errors import CallbackError, StartError
from headrace.spark import session as sessions
from headrace.spark.handed import beside, check_session, warn_of_small_results
from headrace.spark.session import SETTINGS
from tests.spark.harness import Application, append, encoded, flat
from tests.spark.harness.application import TIMEOUT
from tests.spark.harness.processes import PATHS

Make = Callable[..., Application]


def counting(source: str = "in", sink: str = "out") -> Topology:
    builder = StreamsBuilder()
    counts = (
        builder.stream(source, value=int).group_by(lambda key, value: f"k{value % 3}").count(store="counts")
    )
    counts.to_stream().to(sink)
    return builder.build()


@pytest.fixture
def users(spark: None) -> Iterator[SparkSession]:
    """The session that the tests share, as if the user had started it."""
    ours, sessions._ours = sessions._ours, None
    assert ours is not None
    try:
        yield ours.newSession()
    finally:
        sessions._ours = ours


def conf(**settings: str) -> Any:
    """As much of a session as a look at its settings needs."""
    known = {name.replace("_", "."): value for name, value in settings.items()}
    return SimpleNamespace(sparkContext=SimpleNamespace(getConf=lambda: known))


def test_what_is_no_session_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"`spark` must be a `SparkSession`, got `builtins.str`"):
        Streams(counting(), application_id="app", spark="local[2]")  # type: ignore[arg-type]
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(StartError, match=r"got one of Spark Connect .* without `remote\(...\)`"):
        Streams(counting(), application_id="app", spark=remote)


def test_settings_that_cannot_be_changed_any_more_are_told(
    users: SparkSession, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = users.sparkContext.getConf()
    with caplog.at_level(logging.WARNING, "headrace"):
        made = beside(users, SETTINGS, {"spark.sql.shuffle.partitions": "7", "spark.locality.wait": "0"})
    assert caplog.records == []
    assert made.conf.get("spark.sql.adaptive.enabled") == "false"
    assert made.conf.get("spark.sql.shuffle.partitions") == "7"

    monkeypatch.setattr(users.sparkContext, "getConf", lambda: real)
    real.set("spark.python.unix.domain.socket.enabled", "false").set("spark.python.worker.reuse", "false")
    with caplog.at_level(logging.WARNING, "headrace"):
        beside(users, SETTINGS, {"spark.executor.memory": "4g"})
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert (
        "quick, and they cannot be changed any more: spark.python.unix.domain.socket.enabled=true, "
        "spark.python.worker.reuse=true;" in told[0]
    )
    assert told[1].endswith("these settings of `spark` come too late: spark.executor.memory")

    real.set("spark.speculation", "true")
    with pytest.raises(StartError, match=r"slow tasks twice \(`spark.speculation`\)"):
        beside(users, SETTINGS, {})


def test_a_driver_that_takes_too_little_is_told(caplog: pytest.LogCaptureFixture) -> None:
    batch = 64 * 1024 * 1024
    with caplog.at_level(logging.WARNING, "headrace"):
        warn_of_small_results(conf(), batch)
        warn_of_small_results(conf(spark_driver_maxResultSize="2g"), batch)
        warn_of_small_results(conf(spark_driver_maxResultSize="0"), batch)
        assert caplog.records == []
        warn_of_small_results(conf(spark_driver_maxResultSize="128m"), batch)
    assert "`spark.driver.maxResultSize` is 128m: a batch of 64 MB" in caplog.records[0].getMessage()


def test_a_session_that_is_stopped_is_refused(users: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users.sparkContext, "_jsc", None)
    with pytest.raises(StartError, match="is stopped: start a new one"):
        check_session(users)


def explode(key: str, value: int) -> bool:
    if value == 13:
        raise ValueError("thirteen")
    return True


def failing() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=int).filter(explode).to("out")
    return builder.build()


def test_applications_on_one_session_do_not_disturb_each_other(application: Make, tmp_path: Path) -> None:
    """Two that count and one that fails: each exact, and one's end or failure is its own matter."""
    topologies = {"first": counting(), "second": counting(), "third": failing()}
    apps = {
        name: application(topology, application_id=name, folder=tmp_path / name, partitions=4)
        for name, topology in topologies.items()
    }
    for app in apps.values():
        app.start()
    for number in range(3):
        for app in apps.values():
            append(app.log, {"in": [encoded(f"a{n}", n, n) for n in range(number * 4, number * 4 + 4)]})
    for app in apps.values():
        app.catch_up()
    append(apps["third"].log, {"in": [encoded("a", 13, 13)]})
    failed = apps["third"].streams
    assert failed is not None
    with pytest.raises(CallbackError):
        failed.wait(TIMEOUT)
    apps["first"].feed({"in": [encoded("b", 2, 20)]})
    apps["first"].stop()
    apps["second"].feed({"in": [encoded("b", 2, 20), encoded("b", 1, 21)]})
    second = apps["second"].streams
    assert second is not None
    assert second.state is State.RUNNING
    assert dict(second.store("counts").all()) == {"k0": 4, "k1": 5, "k2": 5}
    outputs = {name: len(flat(app.read("out"))) for name, app in apps.items()}
    assert outputs == {"first": 13, "second": 14, "third": 12}


def printing() -> Topology:
    """A head and a stage that print: before the shuffle and behind it."""
    builder = StreamsBuilder()
    stream = builder.stream("in", value=int).peek(lambda key, value: print("saw", key, value))
    counts = stream.group_by(lambda key, value: key[0]).count(store="counts")
    counts.to_stream().print(label="counted")
    stream.filter(explode).to("out")
    return builder.build()


def test_what_is_printed_comes_out_here_marked_with_task_and_offset(
    application: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    app = application(printing(), partitions=2)
    app.start()
    app.feed({"in": [encoded("ab", 1, 5), encoded("ac", 2, 6)]})
    lines = capsys.readouterr().out.splitlines()
    seen = sorted(line for line in lines if "saw" in line)
    assert [re.sub(r"in-\d@\d+", "in", line.partition(" ")[2]) for line in seen] == [
        "in | saw ab 1",
        "in | saw ac 2",
    ]
    assert all(re.fullmatch(r"0_(\d) in-\1@[01] \| saw a[bc] \d", line) for line in seen)
    counted = [line for line in lines if "counted" in line]
    assert [line.partition(" | ")[2] for line in counted] == ["[counted]: a, 1", "[counted]: a, 2"]
    assert all(line.startswith("1_") for line in counted)
    # What the batch that fails has printed helps to find out why.
    append(app.log, {"in": [encoded("ab", 13, 7)]})
    streams = app.streams
    assert streams is not None
    with pytest.raises(CallbackError):
        streams.wait(TIMEOUT)
    assert "saw ab 13" in capsys.readouterr().out


def test_what_is_printed_can_go_elsewhere(application: Make, capsys: pytest.CaptureFixture[str]) -> None:
    app = application(printing(), partitions=1)
    streams = app.create()
    shown: list[str] = []
    streams.on_print(lambda prints: shown.extend(line.text for each in prints for line in each.lines))
    streams.start()
    app.feed({"in": [encoded("ab", 1, 5)]})
    assert shown == ["saw ab 1", "[counted]: a, 1"]
    assert capsys.readouterr().out == ""


SCRIPT = """
import logging
import sys

from pyspark.sql import SparkSession

from headrace import Streams, StreamsBuilder
from headrace.log import Outgoing, LogConfig, open_log

logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(message)s")


def counting(sink):
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=int).group_by(lambda key, value: f"k{value % 3}")
    grouped.count(store="counts").to_stream().to(sink)
    return builder.build()


first, second = counting("out-1"), counting("out-2")

if __name__ == "__main__":
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    rates = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    query = rates.writeStream.format("memory").queryName("rates").start()
    log = open_log(LogConfig(directory=".headrace/log"))
    log.create_topic("in", 3)
    values = [n.to_bytes(8, "big") for n in range(60)]
    log.append([Outgoing("in", [b"%d" % n for n in range(60)], values, list(range(60)))])
    apps = [
        Streams(topology, application_id=f"app-{number}", spark=spark)
        for number, topology in enumerate((first, second), start=1)
    ]
    for app in apps:
        app.start()
    for app in apps:
        app.wait_until_caught_up()
        print(app.config.application_id, dict(app.store("counts").all()))
        app.close()
    # Without a word the Spark that runs already is taken, and left running as well.
    with Streams(first, application_id="app-1") as app:
        app.wait_until_running()
    query.processAllAvailable()
    print("mine", query.isActive, spark.range(7).count(), spark.conf.get("spark.sql.adaptive.enabled"))
    query.stop()
    spark.stop()
"""


def test_a_session_of_the_users_is_used_and_left_as_it_is(tmp_path: Path) -> None:
    """As everybody starts one: no setting of ours, adaptive execution on. Its settings stay its own, and its queries go
    on while applications come and go.
    """
    file = tmp_path / "plain.py"
    file.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, file.name],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(PATHS)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("WARNING")] == [
        "app-1 {'k0': 20, 'k1': 20, 'k2': 20}",
        "app-2 {'k0': 20, 'k1': 20, 'k2': 20}",
        "mine True 7 true",
    ]
    assert "spark.python.unix.domain.socket.enabled=true" in lines[0]
    assert "`headrace.spark_settings()` has them all" in lines[0]
