"""The directory of an embedded log: full, forbidden, of something else, of another version. No harm is done."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest
from log_contract import some, values

from headrace.errors import LogError
from headrace.log import Outgoing
from headrace.log.embedded import EmbeddedLog


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EmbeddedLog]:
    with EmbeddedLog(tmp_path / "log") as opened:
        yield opened


def run(code: str, *args: object, without_override: bool = False) -> str:
    """What another process prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_obey_rights if without_override else None,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _obey_rights() -> None:
    """Even root may then do only what the rights of a file allow; for others nothing changes."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


FILL = """
    import resource, sys
    from headrace.errors import LogError
    from headrace.log import Outgoing
    from headrace.log.embedded import EmbeddedLog
    log = EmbeddedLog(sys.argv[1])
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, unlimited[1]))  # a file system without more room
    refused = 0
    written = 0
    while refused < 3:
        try:
            log.append([Outgoing(topic, [b"k"], [bytes(250_000)], [1]) for topic in ("t", "u")])
            written += 1
        except LogError as error:
            refused += 1
            said = str(error)
    print(said)
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)  # somebody has made room
    log.append([Outgoing(topic, [b"k"], [bytes(250_000)], [1]) for topic in ("t", "u")])
    print(written + 1)
"""


def test_a_full_disk_is_said_clearly_harms_nothing_and_writing_goes_on_once_there_is_room(
    log: EmbeddedLog,
) -> None:
    log.create_topic("t")
    log.create_topic("u")
    *said, written = run(FILL, log.directory).splitlines()
    assert f"the disk of the log in `{log.directory}` is full" in said[0]
    assert "bytes are free; this append needs about 56" in said[0], "half a megabyte and some pages"
    assert "nothing of this append was kept: make room" in said[0]
    assert int(written) > 2
    assert [len(values(log, topic)) for topic in ("t", "u")] == [int(written)] * 2
    log.append([some("t", 1)])
    assert len(values(log, "t")) == int(written) + 1


def test_a_full_disk_can_be_emptied_by_deleting_a_topic(log: EmbeddedLog) -> None:
    """Deleting needs some pages itself; the room of the deleted records is then used again."""
    log.create_topic("t")
    log.create_topic("u")
    code = FILL.replace(
        "resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)  # somebody has made room",
        "log.delete_topic('u'); log.create_topic('u')",
    )
    said = run(code, log.directory).splitlines()
    assert "is full" in said[0]
    assert len(values(log, "u")) == 1
    assert len(values(log, "t")) == int(said[-1])


OPEN = """
    import sys
    from headrace.errors import LogError
    from headrace.log.embedded import EmbeddedLog
    try:
        EmbeddedLog(sys.argv[1])
        print("opened")
    except LogError as error:
        print(error)
"""


def test_a_directory_without_the_right_to_write_is_said(tmp_path: Path) -> None:
    inner = tmp_path / "locked" / "log"
    EmbeddedLog(inner).close()
    files = [inner, *inner.iterdir()]
    rights = [file.stat().st_mode for file in files]
    try:
        for file in files:
            file.chmod(0o500 if file.is_dir() else 0o400)
        said = run(OPEN, inner, without_override=True)
        assert f"the log in `{inner}` cannot be locked or written" in said
        assert "check who owns the directory" in said
        (tmp_path / "locked").chmod(0o500)
        said = run(OPEN, tmp_path / "locked" / "new", without_override=True)
        assert f"the log in `{tmp_path}/locked/new` cannot be locked or written" in said
    finally:
        (tmp_path / "locked").chmod(0o700)
        for file, mode in zip(files, rights, strict=True):
            file.chmod(mode)
    assert run(OPEN, inner, without_override=True) == "opened\n"


def test_a_file_where_the_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "log"):
        with pytest.raises(LogError, match=r"`.*/file"):
            EmbeddedLog(path)


def test_a_directory_with_other_things_in_it_is_not_taken(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.txt", "d.txt"):
        (tmp_path / name).write_text("mine")
    with pytest.raises(LogError, match=r"is no log.*`a.txt`, `b.txt`, `c.txt` and 1 more.*empty directory"):
        EmbeddedLog(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"something else" * 1000)
    with pytest.raises(LogError, match="is no log, or is damaged"):
        EmbeddedLog(tmp_path)
    assert (tmp_path / "data.mdb").read_bytes() == b"something else" * 1000


def test_a_database_of_something_else(tmp_path: Path) -> None:
    other = lmdb.open(str(tmp_path), max_dbs=2)
    other.open_db(b"s/counts")
    other.open_db(b"meta")
    other.close()
    with pytest.raises(LogError, match=r"LMDB of something else.*`s/counts`.*another directory"):
        EmbeddedLog(tmp_path)
    with lmdb.open(str(tmp_path), max_dbs=2) as left, left.begin() as txn:
        assert sorted(name for name, _ in txn.cursor()) == [b"meta", b"s/counts"]


def test_a_log_of_another_format_is_refused(tmp_path: Path) -> None:
    with EmbeddedLog(tmp_path) as log, log._environment.write() as txn:
        txn.put(b"format", b"99", db=log._environment.meta)
    with pytest.raises(LogError, match=r"has format '99'.*reads '1'.*use the version that wrote it"):
        EmbeddedLog(tmp_path)


def test_a_log_of_the_version_before_is_taken(tmp_path: Path) -> None:
    """It had no place for the positions of consumers."""
    with EmbeddedLog(tmp_path) as log:
        log.create_topic("t")
        log.append([some("t", 1)])
        with log._environment.write() as txn:
            txn.drop(log._environment.groups)
    with EmbeddedLog(tmp_path) as log:
        assert values(log, "t") == [b"v0"]


def test_a_file_that_was_cut_short(tmp_path: Path) -> None:
    """LMDB would map what is not there, and the first read of it would be the end of the process."""
    with EmbeddedLog(tmp_path) as log:
        log.create_topic("t")
        log.append([Outgoing("t", [b"k"] * 40, [bytes(100_000)] * 40, [1] * 40)])
    with (tmp_path / "data.mdb").open("r+b") as file:
        file.truncate(1_000_000)
    with pytest.raises(LogError, match=r"is damaged: its file has 1,000,000 bytes instead of about .*backup"):
        EmbeddedLog(tmp_path)


def test_an_entry_that_is_damaged_is_named(log: EmbeddedLog) -> None:
    log.create_topic("t")
    log.append([some("t", 3)])
    log.append([some("t", 3, 3)])
    environment = log._environment
    for wrong in (b"\1", b"\1\7" + bytes(30), b"\1\0" + bytes(30) + b"no Arrow"):
        with environment.write() as txn, txn.cursor(db=environment.entries) as cursor:
            assert cursor.last()
            txn.put(bytes(cursor.key()), wrong.ljust(32, b"\0"), db=environment.entries)
        with pytest.raises(LogError, match=r"topic `t`, partition 0: the entry at offset 3 is damaged"):
            values(log, "t")


BEGIN = """
    import os, sys
    import headrace.log.embedded.environment as environment
    # kill -9 at the worst moment: while the databases of a new log are made
    environment.Environment._check_format = lambda *_: os.kill(os.getpid(), 9)
    environment.acquire(sys.argv[1])
"""


def test_a_log_whose_first_process_was_killed_while_it_began(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(BEGIN), str(tmp_path)], check=False)
    assert done.returncode == -9
    with EmbeddedLog(tmp_path) as log:
        log.create_topic("t")
        assert log.topics() == {"t": 1}


SMALL = """
    import resource, sys
    from headrace.errors import LogError
    from headrace.log import Outgoing, TopicPartition
    from headrace.log.embedded import EmbeddedLog
    resource.setrlimit(resource.RLIMIT_AS, (20 << 30, 20 << 30))  # less than the map that others have
    log = EmbeddedLog(sys.argv[1])
    log.append([Outgoing("t", [b"k"], [b"from the small one"], [1])])
    print(log.latest([TopicPartition("t", 0)])[TopicPartition("t", 0)])
"""


def test_a_process_with_little_address_space_takes_part(log: EmbeddedLog) -> None:
    log.create_topic("t")
    log.append([some("t", 3)])
    assert run(SMALL, log.directory) == "4\n"
    assert values(log, "t")[-1] == b"from the small one"


TINY = """
    import sys
    import headrace.log.embedded.environment as environment
    from headrace.errors import LogError
    from headrace.log.embedded import EmbeddedLog
    environment._MAP_SIZES = (1 << 20,)  # as if a limit left no more
    log = EmbeddedLog(sys.argv[1])
    print("open", flush=True)
    sys.stdin.readline()
    try:
        log.topics()
        print("read")
    except LogError as error:
        print(error)
"""


def test_a_log_that_outgrows_a_process_with_little_address_space(log: EmbeddedLog) -> None:
    log.create_topic("t")
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(TINY), str(log.directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    log.append([some("t", 100_000)])
    said = process.communicate("\n")[0]
    assert "larger than the address space that this process got: raise `ulimit -v`" in said
    assert len(values(log, "t")) == 100_000
