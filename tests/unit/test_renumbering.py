"""A sub-topology that has another number in a new version goes on with the times that it remembers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from headrace import EmitStrategy, StreamsBuilder, TimeWindows
from headrace.cli.main import main
from headrace.errors import StartError
from headrace.log.commits import TOPOLOGY
from headrace.topology.topology import Topology
from tests.spark.harness.records import Part, encoded, flat
from tests.spark.harness.sparkless import Sparkless


def windows(*, first: str | None = None, last: str | None = None) -> Topology:
    """Windows that are sent once, when they are closed; something before and behind them."""
    builder = StreamsBuilder()
    if first is not None:
        builder.stream(first, value=str).group_by_key().count(store="first")
    closing = TimeWindows(timedelta(milliseconds=100), grace=timedelta(0))
    grouped = builder.stream("in", value=str).group_by_key()
    closed = grouped.windowed_by(closing).emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    closed.count(store="windows", name="closed").to_stream().to("out", value=int)
    if last is not None:
        builder.stream(last, value=str).group_by_key().count(store="last")
    return builder.build()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Sparkless]:
    made = Sparkless(windows(last="last"), tmp_path, partitions=2)
    for topic, partitions in (("first", 2), ("other", 3)):
        made.log.create_topic(topic, partitions)
    yield made
    made.close()


def at(*times: int) -> Part:
    return {"in": [encoded(f"k{n}", "v", time) for time in times for n in range(6)]}


def test_windows_that_were_sent_are_not_sent_again(app: Sparkless) -> None:
    app.run([at(10, 60, 110, 160), {"last": [encoded("a", "v", 5)]}])
    assert len(flat(app.read("out"))) == 6
    app.topology = windows(first="first", last="last")
    app.start()
    app.feed({"first": [encoded("a", "v", 5)]}, at(170, 180))
    assert len(flat(app.read("out"))) == 6  # the first window is closed and gone
    app.feed(at(20), at(210))
    assert dict(app.store("first").all()) == {"a": 1}
    assert dict(app.store("last").all()) == {"a": 1}
    app.stop()
    values = [int.from_bytes(record.value or b"") for record in flat(app.read("out"))]
    assert sorted(values) == [2] * 6 + [4] * 6  # the record at 20 was late


def test_and_back(app: Sparkless) -> None:
    app.run([at(10, 60, 110, 160)])
    for topology in (windows(first="first", last="last"), windows(last="last"), windows()):
        app.topology = topology
        app.run([at(165)])
    app.run([at(20), at(210)])
    assert len(flat(app.read("out"))) == 12


def test_a_number_that_had_other_partitions_is_refused(app: Sparkless) -> None:
    app.run([at(10, 60, 110, 160)])
    app.topology = windows(first="other", last="last")
    with pytest.raises(StartError, match="`app-task-0-changelog` now has or needs 3 partitions, and had 2"):
        app.start()
    app.topology = windows(last="last")
    app.run([at(20), at(210)])
    assert len(flat(app.read("out"))) == 12


def test_what_a_start_refuses_is_not_safe_to_the_check_and_changes_nothing(
    app: Sparkless, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app.run([at(10, 60, 110, 160)])
    before = app.log.committed("app"), app.log.committed("app", TOPOLOGY)

    def check(first: str) -> int:
        name = f"renumbered_{first}"
        file = tmp_path / f"{name}.py"
        file.write_text(
            f"from tests.unit.test_renumbering import windows\n\ntopology = windows(first={first!r}, last='last')\n"
        )
        code = main(["check", str(file), "--application-id", "app", "--data-dir", app.config.data_dir])
        del sys.modules[name]
        return code

    assert check("other") == 4
    told = capsys.readouterr().out
    assert (
        "needs a reset: topic `app-task-0-changelog`: `app-task-0-changelog` now has or needs 3 partitions"
        in told
    )
    app.topology = windows(first="other", last="last")
    with pytest.raises(StartError, match="`app-task-0-changelog` now has or needs 3 partitions, and had 2"):
        app.start()
    assert (app.log.committed("app"), app.log.committed("app", TOPOLOGY)) == before
    assert check("first") == 0
    app.topology = windows(first="first", last="last")
    app.run([at(165)])
