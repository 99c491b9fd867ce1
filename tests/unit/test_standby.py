"""Standbys: warm copies that follow the changelogs, and starts that take them over."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import drill_app
import pytest

from headrace import StreamsBuilder
from headrace.cli.main import main
from headrace.log.base import Outgoing
from headrace.restore.recorded import recorded
from headrace.restore.standby import Standby, statuses
from headrace.restore.standby_process import StandbyProcesses
from headrace.spark.publish import Batch
from headrace.state.disk import Disk
from headrace.topology.topology import Topology
from tests.spark.harness.sparkless import BrokenOffError, Sparkless

APP = str(Path(drill_app.__file__))
STORES = ["by-key", "by-letter", "by-minute", "by-session", "recent", "final"]


def words(seed: int, count: int = 1_200) -> Iterator[tuple[bytes, bytes, int]]:
    random = Random(seed)
    for number in range(count):
        key = b"k%d" % random.randrange(900)
        yield key, random.choice([b"ant", b"bee", b"cat"]), seed * 60_000 + number * 10


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Sparkless]:
    with Sparkless(drill_app.topology, tmp_path, partitions=2, together=True) as made:
        made.fed("words", words(0))
        made.fed("words", words(1))
        yield made


def standby_of(app: Sparkless, topology: Topology | None = None) -> Standby:
    return Standby(recorded(topology or app.topology, app.config, app.log), app.log)


def followed(app: Sparkless) -> None:
    """A standby has been there until now."""
    standby = standby_of(app)
    assert standby.follow().behind == 0
    standby.close()


def lose_the_disk(app: Sparkless) -> None:
    app.stop()
    shutil.rmtree(app.config.state_path)
    app.start()


def recoveries(batch: Batch) -> set[str]:
    """Of the tasks with all stores but that of the letters, which are three."""
    return {report.recovery for report in batch.reports if report.task in ("0_0", "0_1")}


def restored(batch: Batch) -> int:
    return sum(report.restored for report in batch.reports if report.task in ("0_0", "0_1"))


def untouched(tmp_path: Path, seeds: list[int]) -> dict[str, dict[bytes, bytes]]:
    """What the stores hold when nothing was ever lost."""
    with Sparkless(drill_app.topology, tmp_path / "untouched", partitions=2, together=True) as other:
        for seed in seeds:
            other.fed("words", words(seed))
        return content(other)


def content(app: Sparkless) -> dict[str, dict[bytes, bytes]]:
    """What can be read of all stores; rows that run out are also kept by when they do, which is nobody's business."""
    found = {store: app.content(store) for store in STORES}
    found["recent"] = {key: row[8:] for key, row in found["recent"].items() if key[:1] == b"R"}
    return found


def test_a_start_without_stores_takes_the_copies_over(app: Sparkless, tmp_path: Path) -> None:
    followed(app)
    lose_the_disk(app)
    batch = app.fed("words", words(2))
    assert recoveries(batch) == {"taken_over"}
    assert restored(batch) == 0
    assert content(app) == untouched(tmp_path, [0, 1, 2])
    assert recoveries(app.fed("words", words(3))) == {"same"}


def test_only_what_a_copy_lacks_is_read(app: Sparkless, tmp_path: Path) -> None:
    followed(app)
    app.fed("words", words(1, 50))
    lose_the_disk(app)
    batch = app.fed("words", words(3))
    assert recoveries(batch) == {"taken_over"}
    assert 0 < restored(batch) < 1_000
    with Sparkless(drill_app.topology, tmp_path / "untouched", partitions=2, together=True) as other:
        for part in (words(0), words(1), words(1, 50), words(3)):
            other.fed("words", part)
        assert content(app) == content(other)


def test_without_a_standby_all_is_read(app: Sparkless) -> None:
    lose_the_disk(app)
    batch = app.fed("words", words(2))
    assert recoveries(batch) == {"rebuilt"}
    assert restored(batch) > 4_000


def test_a_copy_follows_batch_after_batch_and_through_failures(app: Sparkless) -> None:
    standby = standby_of(app)
    first = standby.follow()
    assert (first.commit, first.behind) == (2, 0)
    assert "is at commit 2, up to date" in str(first)
    assert standby.follow().records == first.records, "nothing new, nothing read"
    for seed in (2, 3):
        app.fed("words", words(seed))
        status = standby.follow()
        assert (status.commit, status.behind) == (seed + 1, 0)
    assert statuses(app.config)[0].commit == 4
    standby.close()
    lose_the_disk(app)
    assert restored(app.fed("words", words(4))) == 0


def test_stores_that_are_only_a_little_behind_catch_up_by_themselves(app: Sparkless) -> None:
    old = app.config.state_path.with_name("old")
    app.fed("words", words(1, 30))
    app.stop()
    shutil.copytree(app.config.state_path, old)
    app.start()
    app.fed("words", words(1, 30))
    followed(app)
    app.stop()
    shutil.rmtree(app.config.state_path)
    old.rename(app.config.state_path)
    app.start()
    assert recoveries(app.fed("words", words(3))) == {"caught_up"}


def test_a_copy_that_is_older_than_tombstones_live_is_not_used(
    app: Sparkless, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed(app)
    app.fed("words", words(2))
    for hosted in app.runtime._hosted.values():
        monkeypatch.setattr(
            hosted.local._recoverer, "_clock", lambda: time.time_ns() // 1_000_000 + 13 * 3_600_000
        )
    shutil.rmtree(app.config.state_path)
    assert recoveries(app.fed("words", words(3))) == {"rebuilt"}


def test_a_copy_of_what_has_not_changed_for_long_is_not_old(
    app: Sparkless, monkeypatch: pytest.MonkeyPatch
) -> None:
    standby = standby_of(app)
    standby.follow()
    before = [state._disk.held.written_ms for state in standby._states.values()]
    monkeypatch.setattr("headrace.restore.standby._REFRESH_SECONDS", 0.0)
    time.sleep(0.002)
    standby.follow()
    after = [state._disk.held.written_ms for state in standby._states.values()]
    assert all(new > old for old, new in zip(before, after, strict=True))
    standby.close()


def test_a_damaged_copy_is_not_used(app: Sparkless) -> None:
    followed(app)
    for file in app.config.standby_path.rglob("data.mdb"):
        file.write_bytes(Random(1).randbytes(file.stat().st_size))
    lose_the_disk(app)
    assert recoveries(app.fed("words", words(2))) == {"rebuilt"}


def test_a_copy_that_cannot_be_copied_does_no_harm(app: Sparkless, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Disk, folder: Path) -> None:
        raise OSError("no")

    followed(app)
    lose_the_disk(app)
    monkeypatch.setattr(Disk, "take_over", fails)
    assert recoveries(app.fed("words", words(2))) == {"rebuilt"}


def test_two_standbys_never_share_a_folder(app: Sparkless) -> None:
    one, two = standby_of(app), standby_of(app)
    assert {one.folder.name, two.folder.name} == {"0", "1"}
    one.close()
    three = standby_of(app)
    assert three.folder.name == "0"
    for standby in (two, three):
        standby.follow()
        standby.close()
    shutil.rmtree(app.config.standby_path / "0")
    lose_the_disk(app)
    assert recoveries(app.fed("words", words(2))) == {"taken_over"}


def test_another_version_of_the_topology(app: Sparkless) -> None:
    """Stores that are new are read whole, those that are gone are forgotten, the others go on."""
    followed(app)
    builder = StreamsBuilder()
    stream = builder.stream("words", key=str, value=str)
    stream.group_by_key().count(store="by-key")
    app.stop()
    changed = builder.build()
    standby = standby_of(app, changed)
    names = {folder.name for folder in standby.folder.iterdir() if folder.is_dir()}
    assert names == {"0_0", "0_1"}
    assert standby.follow().behind == 0
    copies = {}
    for state in standby._states.values():
        copies.update(state.backend("by-key").range(None, None))
        state.rollback()
    standby.close()
    app.start()
    app.fed("words", words(9, 1))
    assert copies.keys() <= app.content("by-key").keys()
    assert len(copies) > 700


def test_a_host_says_itself_where_its_copies_are(
    app: Sparkless, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a cluster each host has copies of its own; a task looks on the one it is on."""
    assert app.config.standby_path == tmp_path / "state-standby" / "app"
    monkeypatch.setenv("HEADRACE_STANDBY_DIR", str(tmp_path / "host-a"))
    followed(app)
    monkeypatch.setenv("HEADRACE_STANDBY_DIR", str(tmp_path / "host-b"))
    lose_the_disk(app)
    assert recoveries(app.fed("words", words(2))) == {"rebuilt"}
    monkeypatch.setenv("HEADRACE_STANDBY_DIR", str(tmp_path / "host-a"))
    lose_the_disk(app)
    assert recoveries(app.fed("words", words(3))) == {"taken_over"}


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_lost_and_whenever_a_copy_was_made_the_stores_are_right(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches that are broken off after their local commits, lost disks, copies of any age, in any order."""
    monkeypatch.setattr("headrace.state.recovery._WORTH_A_COPY", 1)
    random = Random(seed)
    ways: set[str] = set()
    with Sparkless(drill_app.topology, tmp_path / "app", partitions=2, together=True) as app:
        app.fed("words", words(0, 100))
        standby = standby_of(app)
        standby.follow()
        for number in range(1, 14):
            app.log.append([outgoing(words(number, 100))])
            if random.random() < 0.4:
                with pytest.raises(BrokenOffError):
                    app.batch(publish=False)
                app.restart()
            if random.random() < 0.4:
                lose_the_disk(app)
            ways |= recoveries(app.batch())
            if random.random() < 0.5:
                standby.follow()
            if random.random() < 0.2:
                standby.close()
                standby = standby_of(app)
        standby.close()
        found = content(app)
    with Sparkless(drill_app.topology, tmp_path / "untouched", partitions=2, together=True) as other:
        for number in range(14):
            other.fed("words", words(number, 100))
        assert found == content(other)
    assert "taken_over" in ways


def outgoing(records: Iterator[tuple[bytes, bytes, int]]) -> Outgoing:
    keys, values, times = zip(*records, strict=True)
    return Outgoing("words", list(keys), list(values), list(times))


def command(tmp_path: Path, *more: str) -> list[str]:
    where = ["--application-id", "app", "--data-dir", str(tmp_path)]
    return ["standby", APP, *where, *more]


def test_the_command_copies_what_is_there(
    app: Sparkless, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "another-disk"
    assert main(command(tmp_path, "--until-caught-up", "--standby-dir", str(elsewhere))) == 0
    assert "standby 0 of `app` is at commit 2, up to date: 3 tasks" in capsys.readouterr().err
    assert len(list(elsewhere.rglob("data.mdb"))) == 3
    assert main(command(tmp_path, "--until-caught-up", "--standby-dir", str(elsewhere), "--quiet")) == 0
    assert capsys.readouterr().err == ""


def wait_for_commit(app: Sparkless, commit: int) -> None:
    until = time.monotonic() + 60
    while not any(status.commit == commit for status in statuses(app.config)):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_standby_that_is_killed_goes_on_where_it_was(app: Sparkless, tmp_path: Path) -> None:
    paths = os.pathsep.join(filter(None, sys.path))
    arguments = [sys.executable, "-m", "headrace.cli.main", *command(tmp_path)]

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            arguments, env={**os.environ, "PYTHONPATH": paths}, stderr=subprocess.PIPE, start_new_session=True
        )

    with begin() as process:
        try:
            wait_for_commit(app, 2)
        finally:
            process.kill()
    app.fed("words", words(1, 20))
    with begin() as process:
        try:
            wait_for_commit(app, 3)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert 0 < statuses(app.config)[0].records < 500, "only what had changed meanwhile"
    lose_the_disk(app)
    assert recoveries(app.fed("words", words(3))) == {"taken_over"}


def test_standbys_beside_an_application_end_with_it_and_begin_again_when_they_die(
    app: Sparkless, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.restore.standby_process._AGAIN_SECONDS", 0.1)
    standbys = StandbyProcesses(app.shipment.pack(), 1)
    standbys.start()
    try:
        wait_for_commit(app, 2)
        (first,) = standbys.pids
        os.kill(first, signal.SIGKILL)
        app.fed("words", words(2))
        wait_for_commit(app, 3)
        (second,) = standbys.pids
        assert second != first
    finally:
        standbys.close()
    assert standbys.pids == []
    assert not Path(f"/proc/{second}").exists()


def test_a_standby_ends_with_an_application_that_is_shut_down_as_a_whole(app: Sparkless) -> None:
    """The word stands in the commit record; one that starts later has missed it, and follows the next start."""
    standby = standby_of(app)
    standby.follow()
    assert standby.shutdown is None
    app.committer.shut_down("nothing helps")
    standby.follow()
    assert standby.shutdown == "nothing helps"
    standby.close()
    later = standby_of(app)
    later.follow()
    later.follow()
    assert later.shutdown is None
    later.close()
