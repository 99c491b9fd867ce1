"""`headrace rescale` on a broker, killed at each of its steps and done again: nothing is lost or doubled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cli.main import main
from headrace.errors import StartError
from headrace.failpoints import IN_ADMIN
from tests.kafka.broker import Broker
from tests.kafka.test_rescale_on_kafka import counting, part
from tests.spark.harness.records import by_key, flat
from tests.spark.harness.sparkless import Sparkless

ROOT = Path(__file__).parents[2]
POINTS = [point for point in IN_ADMIN if point.startswith("rescale.")]


@pytest.fixture
def app(broker: Broker, name: str, tmp_path: Path) -> Iterator[Sparkless]:
    (tmp_path / "rescaled_app.py").write_text(
        f"from tests.kafka.test_rescale_on_kafka import counting\n\ntopology = counting({name!r})\n"
    )
    (tmp_path / "failpoints").mkdir()
    made = Sparkless(
        counting(name),
        tmp_path,
        application_id=name,
        partitions=3,
        bootstrap_servers=broker.bootstrap_servers,
    )
    yield made
    made.close()


def command(app: Sparkless) -> list[str]:
    """As a user gives it."""
    folder, servers = app.config.data_dir, str(app.config.bootstrap_servers)
    where = [
        "--application-id",
        app.config.application_id,
        "--data-dir",
        folder,
        "--bootstrap-servers",
        servers,
    ]
    return ["rescale", f"{folder}/rescaled_app.py", "--tasks", "2", "--yes", *where]


def killed_at(app: Sparkless, point: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which dies at the point."""
    points = Path(app.config.data_dir) / "failpoints"
    (points / point).touch()
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), str(ROOT / "tests")])
    return subprocess.run(
        [sys.executable, "-m", "headrace.cli.main", *command(app)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths, "HEADRACE_FAILPOINTS": str(points)},
        check=False,
    )


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_point_it_is_done_again(
    app: Sparkless, name: str, point: str, capsys: pytest.CaptureFixture[str]
) -> None:
    app.run([part(name, 0)])
    killed = killed_at(app, point)
    assert killed.returncode == -9, killed.stderr
    if point in ("rescale.switched", "rescale.replaced"):
        with pytest.raises(StartError, match=f"`headrace rescale` of application `{name}` was begun"):
            app.start()
    else:  # it has not happened, or is done
        app.run([part(name, 60)])
    assert main(command(app)) == 0
    del sys.modules["rescaled_app"]
    assert capsys.readouterr().out.endswith(f"application `{name}` has 2 tasks now\n")
    topics = app.log.topics()
    assert topics[f"{name}-counts-changelog"] == 2
    assert not [topic for topic in topics if topic.startswith(name) and topic.endswith("-rescaled")]
    before = sum(len(rows) for rows in app.read(f"{name}-in").values())
    app.start()
    app.feed(part(name, before))
    counts = dict(app.store("counts").all())
    app.stop()
    total = before + 60
    assert counts == {f"k{n}": len(range(n, total, 9)) for n in range(9)}
    written = by_key(flat(app.read(f"{name}-out")))
    found = {key: [int.from_bytes(row.value or b"") for row in rows] for key, rows in written.items()}
    assert found == {f"k{n}".encode(): list(range(1, counts[f"k{n}"] + 1)) for n in range(9)}
