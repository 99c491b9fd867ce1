"""`headrace drill restore`: all stores are rebuilt, measured and compared, and nothing is changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import drill_app
import pytest

from headrace.cli.main import main
from headrace.log.embedded import EmbeddedLog
from headrace.state.local import LocalState
from tests.spark.harness.sparkless import Sparkless

APP = str(Path(drill_app.__file__))
STORES = ["by-key", "by-letter", "by-minute", "by-session", "recent", "final"]


def words(seed: int, count: int = 300) -> Iterator[tuple[bytes, bytes, int]]:
    random = Random(seed)
    for number in range(count):
        yield (
            b"k%d" % random.randrange(30),
            random.choice([b"ant", b"bee", b"cat"]),
            seed * 120_000 + number * 200,
        )


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Sparkless]:
    with Sparkless(drill_app.topology, tmp_path, partitions=2, together=True) as made:
        for seed in range(4):
            made.fed("words", words(seed))
        yield made


def drill(tmp_path: Path, *more: str) -> int:
    return main(
        ["drill", "restore", APP, "--application-id", "app", "--data-dir", str(tmp_path), "--quiet", *more]
    )


def listing(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "lock.mdb"  # LMDB's readers sign in there
    }


def test_rebuilt_stores_are_equal_and_nothing_is_changed(
    app: Sparkless, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app.stop()
    before = listing(tmp_path / "state"), app.log.positions("app"), sorted(app.log.topics())
    assert drill(tmp_path) == 0
    assert (listing(tmp_path / "state"), app.log.positions("app"), sorted(app.log.topics())) == before
    told = capsys.readouterr().out
    assert "restore drill of `app` as of commit 4" in told
    for store in STORES:
        line = next(line for line in told.splitlines() if line.startswith(store + " "))
        assert line.endswith("equal"), line
    assert "in all" in told
    app.start()


def test_numbers_for_programs(app: Sparkless, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app.stop()
    assert drill(tmp_path, "--format", "json", "--processes", "1") == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told["stores"]) >= set(STORES)
    assert told["stores"]["by-key"]["keys"] == 30
    assert told["stores"]["by-key"]["records"] >= 30
    assert told["keys"] == sum(store["keys"] for store in told["stores"].values())
    assert told["seconds"] > 0
    assert told["keys_per_second"] > 0
    assert told["bytes"] > 0
    assert (told["commit"], told["processes"], told["differing"], told["uncompared"]) == (4, 1, 0, {})
    app.start()


def test_beside_a_running_application(
    app: Sparkless, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drill(tmp_path) == 0
    assert "DIFFERENT" not in capsys.readouterr().out
    app.fed("words", words(9))
    assert {report.recovery for report in app.batches[-1].reports} == {"same"}


def test_what_differs_is_told(app: Sparkless, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a bug or a bad disk would leave it: the stamp is right, a value is not."""
    hosted = next(task for task in app.runtime._hosted.values() if task.local.stamp is not None)
    accepted = hosted.changelogs.accepted(app.committer.base)
    task, stores = hosted.id, hosted.placement.sub.stores
    app.stop()
    state = LocalState(app.config.state_path / str(task), stores)
    state.prepare(accepted, lambda *range: iter(()))
    name = stores[0].name
    key = next(key for key, _ in state.backend(name).range(None, None))
    state.backend(name).put(key, b"wrong")
    state._disk.write(state._disk.held, undo=False)
    state.close()
    assert drill(tmp_path) == 3
    told = capsys.readouterr().out
    assert f"DIFFERENT: keys of `{name}`: 1 in task {task}" in told
    app.start()


def test_without_a_local_copy_there_is_nothing_to_compare(
    app: Sparkless, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app.stop()
    shutil.rmtree(app.config.state_path)
    assert drill(tmp_path, "--into", str(tmp_path / "elsewhere")) == 0
    told = capsys.readouterr().out
    assert "not compared: there is no local copy" in told
    assert "equal" not in told
    assert not app.config.state_path.exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    app.start()


def test_an_application_that_never_ran_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert drill(tmp_path) == 1
    assert "so application `app` has never run there" in capsys.readouterr().err
    assert not list(tmp_path.iterdir()), "looking makes no log"
    EmbeddedLog(tmp_path / "log").close()
    assert drill(tmp_path) == 1
    assert "cannot have run here" in capsys.readouterr().err
    with Sparkless(drill_app.topology, tmp_path, partitions=2, together=True):
        pass
    assert drill(tmp_path) == 1
    assert "has committed nothing yet" in capsys.readouterr().err


def test_a_local_copy_of_another_commit_is_not_compared(
    app: Sparkless, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app.stop()
    old = tmp_path / "old"
    shutil.copytree(app.config.state_path, old)
    app.start()
    app.fed("words", words(7))
    app.stop()
    shutil.rmtree(app.config.state_path)
    shutil.move(old, app.config.state_path)
    assert drill(tmp_path) == 0
    assert "not compared: the local copy is of another commit" in capsys.readouterr().out
    app.start()
