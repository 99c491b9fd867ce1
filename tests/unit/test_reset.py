"""`headrace reset`: what goes, what stays, and that it can be broken off anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headrace import StreamsConfig
from headrace.admin.beginnings import Beginning, to_datetime, to_duration
from headrace.admin.reset import ResetPlan, plan_reset, reset
from headrace.admin.stopped import stopped
from headrace.cli.main import main
from headrace.errors import AlreadyRunningError, ConfigError, StartError
from headrace.failpoints import IN_ADMIN
from headrace.log.commits import TOPOLOGY
from headrace.spark.commit import CommitRecord, decode
from headrace.topology.topology import Topology
from tests.spark.harness.inputs import parts
from tests.spark.harness.records import Part, Rec, by_key, flat
from tests.spark.harness.sparkless import Sparkless

ROOT = Path(__file__).parents[2]
APP = ROOT / "tests" / "unit" / "reset_app.py"


def topology() -> Topology:
    from tests.unit.reset_app import topology

    return topology


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Sparkless]:
    made = Sparkless(topology(), tmp_path, application_id="reset-app")
    made.log.create_topic("reset-app-eu-counts-changelog")  # of an application `reset-app-eu`
    yield made
    made.close()


def planned(app: Sparkless, beginning: Beginning | None = None) -> ResetPlan:
    with stopped(app.topology, app.config, only_look=True) as found:
        return plan_reset(found, beginning)


def do(app: Sparkless, beginning: Beginning | None = None) -> None:
    with stopped(app.topology, app.config) as found:
        reset(found, plan_reset(found, beginning))


def last(app: Sparkless, topic: str) -> dict[bytes | None, Rec]:
    return {key: records[-1] for key, records in by_key(flat(app.read(topic))).items()}


INPUT = parts("in", count=2, size=40)


def test_the_plan_names_everything_and_changes_nothing(app: Sparkless) -> None:
    app.run(INPUT)
    before = {topic: app.read(topic) for topic in app.log.topics()}
    plan = planned(app)
    names = ("counts", "letters", "task-0", "task-2")
    assert plan.topics == tuple(f"reset-app-{name}-changelog" for name in names)
    assert plan.doubtful == ("reset-app-eu-counts-changelog",)
    assert plan.outputs == ("out",)
    assert plan.intermediate == ("back",)
    assert plan.first == ("in",)
    assert plan.folders == (app.config.state_path,)
    told = "\n".join(plan.lines())
    assert "keep     out: an output topic, which a reset never touches" in told
    assert "skip     back: it is written and read" in told
    assert f"delete   {app.config.state_path}/" in told
    assert {topic: app.read(topic) for topic in app.log.topics()} == before


def test_afterwards_it_is_as_at_a_first_start(app: Sparkless) -> None:
    app.run(INPUT)
    first, outputs = last(app, "out"), app.read("out")
    do(app)
    assert not app.config.state_path.exists()
    assert not {t for t in app.log.topics() if t.endswith("-changelog")} - {"reset-app-eu-counts-changelog"}
    assert app.log.committed("reset-app", TOPOLOGY) is None
    assert app.log.positions("reset-app").keys() == {("back", p) for p in range(4)}
    assert app.read("out") == outputs
    app.run([])
    again = app.read("out")
    for partition, records in outputs.items():
        assert again[partition][: len(records)] == records
        assert by_key(again[partition][len(records) :]) == by_key(records)
    assert last(app, "out") == first


def test_a_running_application_is_left_alone(app: Sparkless) -> None:
    app.start()
    app.feed(*INPUT)
    with pytest.raises(AlreadyRunningError, match=r"process \d+ on host .* holds it; stop it first"):
        do(app)
    assert planned(app).commits  # looking does no harm
    app.stop()
    do(app)


def test_an_application_that_never_ran_has_nothing_to_reset(tmp_path: Path) -> None:
    config = StreamsConfig(application_id="app", data_dir=str(tmp_path / "none"))
    with pytest.raises(StartError, match="has never run there"), stopped(topology(), config):
        pass
    app = Sparkless(topology(), tmp_path, application_id="reset-app")
    assert planned(app).is_empty
    app.close()


TIMES: Part = {"in": [Rec(b"k", b"v%d" % n, n * 1000) for n in range(10)]}


@pytest.mark.parametrize(
    ("beginning", "position"),
    [
        (Beginning(earliest=True), 0),
        (Beginning(latest=True), 10),
        (Beginning(at=datetime.fromtimestamp(3, UTC)), 3),
        (Beginning(back=timedelta(hours=1)), 10),
        (Beginning(offset=4), 4),
        (Beginning(offset=400), 10),
    ],
    ids=lambda value: value.words if isinstance(value, Beginning) else "",
)
def test_the_inputs_can_begin_anywhere(tmp_path: Path, beginning: Beginning, position: int) -> None:
    app = Sparkless(topology(), tmp_path, application_id="reset-app", partitions=1)
    app.run([TIMES])
    do(app, beginning)
    found = app.log.committed("reset-app")
    assert found is not None
    record = decode(found, CommitRecord)
    assert (record.number, record.positions["in"]) == (0, [position])
    assert app.log.positions("reset-app")["in", 0] == position
    app.start()
    app.catch_up()
    assert dict(app.store("counts").all()) == ({"k": 10 - position} if position < 10 else {})
    app.close()


def test_options_are_kafkas() -> None:
    assert to_datetime("2026-01-31T12:00:00.000") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert to_datetime("2026-01-31T12:00:00+01:00") == datetime(2026, 1, 31, 11, tzinfo=UTC)
    assert to_duration("P2DT3H4M5.5S") == timedelta(days=2, hours=3, minutes=4, seconds=5.5)
    for wrong in ("P", "PT", "1h", "P1H", "PT1X"):
        with pytest.raises(ConfigError, match="PnDTnHnMnS"):
            to_duration(wrong)
    with pytest.raises(ConfigError, match="YYYY-MM-DD"):
        to_datetime("yesterday")


def command(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headrace.cli.main", "reset", str(APP), "--data-dir", str(folder), *options],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])} | environment,
        check=False,
    )


@pytest.mark.parametrize("point", [point for point in IN_ADMIN if point.startswith("reset.")])
def test_killed_at_any_point_it_is_done_again(app: Sparkless, tmp_path: Path, point: str) -> None:
    app.run(INPUT)
    first = last(app, "out")
    points = tmp_path / "failpoints"
    points.mkdir()
    (points / point).touch()
    assert command(tmp_path, "--yes", HEADRACE_FAILPOINTS=str(points)).returncode == -9
    if point != "reset.done":
        with pytest.raises(StartError, match="`headrace reset` of application `reset-app` was begun"):
            app.start()
        assert planned(app).again
    done = command(tmp_path, "--yes")
    assert done.returncode == 0, done.stderr
    end = "has nothing to reset" if point == "reset.done" else "starts afresh"
    assert done.stdout.endswith(f"application `reset-app` {end}\n")
    assert {t for t in app.log.topics() if t.endswith("-changelog")} == {"reset-app-eu-counts-changelog"}
    app.run([])
    assert last(app, "out") == first


def test_the_command_asks_unless_it_is_told_not_to(
    app: Sparkless, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app.run(INPUT)
    done = command(tmp_path)
    assert done.returncode == 1
    assert "there is no terminal to ask on: say `--yes`, or look with `--dry-run`" in done.stderr
    here = ["reset", str(APP), "--data-dir", str(tmp_path)]
    assert main([*here, "--dry-run"]) == 0
    assert capsys.readouterr().out.endswith("nothing was done\n")
    assert main([*here, "--yes", "--to-latest", "--input-topics", "out"]) == 1
    assert "`out` is no input of application `reset-app`: it reads `in`" in capsys.readouterr().err
    assert planned(app).commits > 0
    assert main([*here, "--yes", "--to-latest"]) == 0
    assert planned(app).commits == 0
    assert not planned(app).is_empty
    assert planned(app, Beginning(latest=True)).is_empty
