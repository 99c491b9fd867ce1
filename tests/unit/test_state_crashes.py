"""What processes, disks and machines do to a local store."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb
import pytest
import state_processes as processes
from state_cases import no_changelog
from state_processes import SPEC, TEXT

from headrace.errors import StoreError
from headrace.state.local import Accepted, LocalReader, LocalState, Stamp
from headrace.state.seal import SealFile


def made(path: Path, commits: int = 2) -> Path:
    """A store whose process was killed; its file is as it was after its last commit."""
    assert processes.run("make", path, commits).stdout == "made\n"
    return path


def found(path: Path, *arguments: object) -> str:
    done = processes.run("check", path, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_killed_process_costs_no_rebuild(tmp_path: Path) -> None:
    assert found(made(tmp_path), 2) == "same whole"


def test_its_last_commit_can_still_be_taken_back(tmp_path: Path) -> None:
    assert found(made(tmp_path), 1) == "undone whole"


@pytest.mark.parametrize("part", [0.0, 0.2, 0.6, 0.95])
def test_a_truncated_file_is_noticed(tmp_path: Path, part: float) -> None:
    data = made(tmp_path) / "data.mdb"
    os.truncate(data, int(data.stat().st_size * part))
    assert found(tmp_path, 2) == "rebuilt whole"


def test_a_truncation_to_whole_pages_is_noticed(tmp_path: Path) -> None:
    data = made(tmp_path) / "data.mdb"
    os.truncate(data, 8192)
    assert found(tmp_path, 2) == "rebuilt whole"


@pytest.mark.parametrize("seed", range(6))
def test_garbage_is_noticed(tmp_path: Path, seed: int) -> None:
    """In the head, all over, and in the pages in between."""
    data = made(tmp_path) / "data.mdb"
    size = data.stat().st_size
    chance = random.Random(seed)
    with data.open("r+b") as file:
        if seed == 0:
            file.write(chance.randbytes(size))
        elif seed == 1:
            file.write(chance.randbytes(8192))
        else:
            for page in chance.sample(range(2, size // 4096), (size // 4096) * 2 // 3):
                file.seek(page * 4096)
                file.write(chance.randbytes(4096))
    assert found(tmp_path, 2) == "rebuilt whole"


@pytest.mark.parametrize("seed", range(4))
def test_one_page_of_garbage_does_no_harm(tmp_path: Path, seed: int) -> None:
    """A page in use leads to a rebuild; a free one to nothing."""
    data = made(tmp_path) / "data.mdb"
    chance = random.Random(seed)
    with data.open("r+b") as file:
        file.seek(chance.randrange(data.stat().st_size // 4096) * 4096)
        file.write(chance.randbytes(4096))
    assert found(tmp_path, 2) in ("rebuilt whole", "same whole")


def test_a_seal_that_cannot_be_read_is_not_trusted(tmp_path: Path) -> None:
    (made(tmp_path) / "seal").write_bytes(b"\0" * 100)
    assert found(tmp_path, 2) == "rebuilt whole"


def test_after_a_power_cut_it_is_rebuilt(tmp_path: Path) -> None:
    assert found(made(tmp_path), 2, "another-boot") == "rebuilt whole"


def test_after_a_clean_close_another_boot_goes_on(tmp_path: Path) -> None:
    assert found(made(tmp_path), 2) == "same whole"  # and closes it
    assert found(tmp_path, 2, "another-boot") == "same whole"


def test_a_clean_seal_does_not_outlive_the_next_write(tmp_path: Path) -> None:
    state = LocalState(tmp_path, [SPEC])
    state.prepare(Accepted(), no_changelog)
    state.close()
    seal = SealFile(tmp_path, "boot")
    first = seal.read()
    assert first is not None
    assert first.clean
    state = LocalState(tmp_path, [SPEC])
    state.prepare(Accepted(), no_changelog)
    state.backend("s").put(b"a", b"1")
    state.commit(Stamp("i", 1, "a"), Accepted())
    last = seal.read()
    assert last is not None
    assert not last.clean
    state.close()


def test_a_file_that_was_closed_and_changed_before_another_boot_is_not_trusted(tmp_path: Path) -> None:
    assert found(made(tmp_path), 2) == "same whole"
    os.utime(tmp_path / "data.mdb")
    assert found(tmp_path, 2, "another-boot") == "rebuilt whole"


def test_a_full_disk_is_told_and_leaves_the_last_commit(tmp_path: Path) -> None:
    made(tmp_path, 1)
    size = (tmp_path / "data.mdb").stat().st_size
    done = processes.run("crowded", tmp_path, size + 200_000)
    assert done.returncode == 0, done.stderr
    told, kind = done.stdout.strip().rsplit("\n", 1)
    assert f"the disk under `{tmp_path}` is full" in told
    assert (
        "this commit needs about 40,377,780 bytes" in told
    )  # twice 20,000 keys of 9 or 10 bytes and 1,000 for each value
    assert "set `state_dir`" in told
    assert kind == "same {'value-1'}"
    assert found(tmp_path, 1) == "same whole"


def test_a_disk_that_is_full_during_a_restore_is_told_and_it_goes_on_later(tmp_path: Path) -> None:
    done = processes.run("crowded_restore", tmp_path, 2_000_000)
    assert done.returncode == 0, done.stderr
    told, after = done.stdout.strip().rsplit("\n", 1)
    assert f"the disk under `{tmp_path}` is full" in told
    assert "this commit needs about 18," in told  # twice 30,000 keys of 9 bytes and values of 300
    assert after == "rebuilt 30000 30000"


@pytest.mark.parametrize("attempt", range(6))
def test_kill_in_the_middle_of_commits_leaves_one_or_the_other(tmp_path: Path, attempt: int) -> None:
    with processes.start("endless", tmp_path) as process:
        assert process.stdout is not None
        begun = 0
        for _ in range(3 + attempt):
            begun = int(process.stdout.readline())
        time.sleep(random.Random(attempt).random() * 0.03)
        process.send_signal(signal.SIGKILL)
        begun = max([begun, *map(int, process.stdout.read().split())])
    commit, *values = processes.run("look", tmp_path).stdout.split()
    assert int(commit) in (begun - 1, begun, begun + 1)
    assert values == [f"value-{commit}"]
    assert found(tmp_path, int(commit)) == "same whole"
    assert found(tmp_path, int(commit) - 1) == "undone whole"


def test_of_two_attempts_on_one_store_one_loses(tmp_path: Path) -> None:
    """A process started again while the old one still lives: whoever commits second is refused."""
    made(tmp_path, 1)
    state = LocalState(tmp_path, [SPEC])
    state.prepare(processes.accepted(1), no_changelog)
    state.backend("s").put(b"mine", b"1")
    assert found(tmp_path, 1) == "same whole"
    with processes.start("make", tmp_path, 1) as other:  # undoes commit 1, and commits its own
        assert other.wait() == -signal.SIGKILL
    with pytest.raises(StoreError, match="another attempt of the same task"):
        state.commit(Stamp("i", 2, "mine"), processes.accepted(1))
    state.rollback()
    assert state.prepare(processes.accepted(1), no_changelog).kind == "same"
    assert state.backend("s").get(b"mine") is None
    state.close()


def test_a_reader_in_another_process_sees_commits_only(tmp_path: Path) -> None:
    state = LocalState(tmp_path, [SPEC])
    state.prepare(Accepted(), no_changelog)
    processes.fill(state, 1)
    assert processes.run("look", tmp_path).stdout == "0\n"
    state.commit(Stamp("i", 1, "a"), Accepted())
    processes.fill(state, 2)
    assert processes.run("look", tmp_path).stdout == "1 value-1\n"
    state.close()


def test_a_reader_keeps_its_snapshot_until_it_is_renewed(tmp_path: Path) -> None:
    reader = LocalReader(tmp_path / "0_0", [SPEC])
    view: Any = reader.store("s", key=TEXT, value=TEXT)
    assert reader.renew() is None
    assert view.get("key-00000") is None
    assert list(view.all()) == []
    state = LocalState(tmp_path / "0_0", [SPEC])
    state.prepare(Accepted(), no_changelog)
    processes.fill(state, 1)
    state.commit(Stamp("i", 1, "a"), Accepted())
    assert reader.renew() == Stamp("i", 1, "a")
    processes.fill(state, 2)
    state.commit(Stamp("i", 2, "a"), Accepted(Stamp("i", 1, "a"), {}))
    assert view.get("key-00000") == "value-1"
    reader.renew()
    assert view.get("key-00000") == "value-2"
    reader.close()
    with pytest.raises(StoreError, match="closed"):
        view.get("key-00000")
    state.close()


def test_a_store_opened_before_a_fork_is_opened_again_after_it(tmp_path: Path) -> None:
    state = LocalState(tmp_path, [SPEC])
    state.prepare(Accepted(), no_changelog)
    state.backend("s").put(b"parent", b"1")
    state.commit(Stamp("i", 1, "a"), Accepted())
    one = Accepted(Stamp("i", 1, "a"), {})
    state.prepare(one, no_changelog)
    context = multiprocessing.get_context("fork")
    answers: Any = context.Queue()

    def child() -> None:
        answers.put(state.backend("s").get(b"parent"))
        answers.put(state.prepare(one, no_changelog).kind)
        state.backend("s").put(b"child", b"2")
        state.commit(Stamp("i", 2, "b"), one)
        state.close()

    process = context.Process(target=child)
    process.start()
    assert [answers.get(timeout=30), answers.get(timeout=30)] == [b"1", "same"]
    process.join()
    assert process.exitcode == 0
    with pytest.raises(StoreError, match="another attempt of the same task"):
        state.backend("s").get(b"parent")
    assert state.prepare(Accepted(Stamp("i", 2, "b"), {}), no_changelog).kind == "same"
    assert state.backend("s").get(b"child") == b"2"
    state.close()


def test_two_parts_of_one_process_share_the_environment(tmp_path: Path) -> None:
    first, second = LocalState(tmp_path, [SPEC]), LocalState(tmp_path, [SPEC])
    first.prepare(Accepted(), no_changelog)
    second.prepare(Accepted(), no_changelog)
    first.backend("s").put(b"a", b"1")
    first.commit(Stamp("i", 1, "a"), Accepted())
    first.close()
    assert second.prepare(Accepted(Stamp("i", 1, "a"), {}), no_changelog).kind == "same"
    assert second.backend("s").get(b"a") == b"1"
    second.close()


def test_a_store_thrown_away_by_another_process_is_followed(tmp_path: Path) -> None:
    """Another process finds the file damaged and begins anew: this one must not go on with the old file."""
    made(tmp_path, 1)
    state = LocalState(tmp_path, [SPEC])
    state.prepare(processes.accepted(1), no_changelog)
    (tmp_path / "seal").write_bytes(b"")
    assert found(tmp_path, 1) == "rebuilt whole"
    assert state.prepare(processes.accepted(1), no_changelog).kind == "same"
    processes.fill(state, 2)
    state.commit(Stamp("i", 2, "a"), processes.accepted(1))
    assert processes.run("look", tmp_path).stdout == "2 value-2\n"
    state.close()


def test_what_cannot_be_right_is_thrown_away_before_it_is_used_again(tmp_path: Path) -> None:
    """LMDB itself found damage in mid-batch: this process and all others start anew."""
    made(tmp_path, 1)
    state = LocalState(tmp_path, [SPEC])
    state.prepare(processes.accepted(1), no_changelog)
    error = state._disk.distrust(ValueError("a page that is none"))
    assert "rebuilt when the batch is tried again" in str(error)
    assert found(tmp_path, 1) == "rebuilt whole"
    assert state.prepare(processes.accepted(1), no_changelog).kind == "same"
    state._disk.distrust(ValueError("again"))
    assert state.prepare(processes.accepted(1), processes.logs_of(1).read).kind == "rebuilt"
    assert state.backend("s").count() == processes.KEYS
    state.close()


def test_a_record_of_another_program_is_thrown_away(tmp_path: Path) -> None:
    """A file that is whole to LMDB, but does not hold what we write."""
    made(tmp_path, 1)
    with lmdb.open(str(tmp_path), max_dbs=8) as env, env.begin(write=True) as txn:
        txn.put(b"held", b"\xc1", db=env.open_db(b"meta", txn=txn))
    assert found(tmp_path, 1) == "rebuilt whole"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match=r"cannot be opened.*set `state_dir`"):
        LocalState(tmp_path / "file" / "0_0", [SPEC]).prepare(Accepted(), no_changelog)


def cut_off(data: Path) -> None:
    os.truncate(data, data.stat().st_size // 2)


def cut_off_all(data: Path) -> None:
    os.truncate(data, 0)


def overwrite(data: Path) -> None:
    with data.open("r+b") as file:
        file.write(random.Random(1).randbytes(data.stat().st_size))


def replace(data: Path) -> None:
    data.unlink()
    data.write_bytes(b"something else")


@pytest.mark.parametrize("damage", [cut_off, cut_off_all, overwrite, replace])
def test_what_others_do_to_a_file_that_is_open_is_noticed_before_it_is_read(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """Following its pages would end this process."""
    state = LocalState(tmp_path, [SPEC])
    reader = LocalReader(tmp_path, [SPEC])
    assert state.prepare(processes.accepted(1), processes.logs_of(1).read).kind == "rebuilt"
    assert state.prepare(processes.accepted(1), no_changelog).kind == "same"
    reader.renew()
    damage(tmp_path / "data.mdb")
    assert state.prepare(processes.accepted(1), processes.logs_of(1).read).kind == "rebuilt"
    assert len(dict(state.backend("s").range(None, None))) == processes.KEYS
    assert reader.renew() == Stamp("i", 1, "a")
    assert len(dict(reader.backend("s").range(None, None))) == processes.KEYS
    reader.close()
    state.close()


def test_a_file_that_was_not_sealed_is_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process leaves it that was killed between its commit and the seal."""
    made(tmp_path)
    os.utime(tmp_path / "data.mdb")
    looked: list[Path] = []

    def is_readable(directory: Path) -> bool:
        looked.append(directory)
        return True

    monkeypatch.setattr("headrace.state.environment.is_readable", is_readable)
    state = LocalState(tmp_path, [SPEC])
    for _ in range(3):
        assert state.prepare(processes.accepted(2), no_changelog).kind == "same"
    assert len(dict(state.backend("s").range(None, None))) == processes.KEYS
    assert looked == [tmp_path]
    state.close()


def test_a_file_of_garbage_is_not_thrown_away_by_who_only_reads(tmp_path: Path) -> None:
    data = made(tmp_path) / "data.mdb"
    overwrite(data)
    garbage = data.read_bytes()
    reader = LocalReader(tmp_path, [SPEC])
    with pytest.raises(StoreError, match="cannot be read"):
        reader.renew()
    reader.close()
    assert data.read_bytes() == garbage
