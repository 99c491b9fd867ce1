"""The embedded log keeps what every topic log promises, and survives what processes do to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from log_contract import TopicLogContract, rows, some, values

from headrace.errors import AlreadyRunningError, ConfigError, LogError
from headrace.log import LogConfig, Outgoing, TopicPartition, open_log
from headrace.log.arrow import ArrowChunk, ArrowOutgoing, to_batch
from headrace.log.embedded import EmbeddedLog


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EmbeddedLog]:
    with EmbeddedLog(tmp_path / "log") as opened:
        yield opened


@pytest.fixture
def name() -> str:
    return "app"


def python(code: str, *args: object) -> subprocess.Popen[str]:
    """Another process that runs `code`."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class TestContract(TopicLogContract):
    pass


def test_open_log_takes_the_directory(tmp_path: Path) -> None:
    log = open_log(LogConfig(directory=str(tmp_path / "new" / "log")))
    log.create_topic("t")
    assert log.topics() == {"t": 1}
    log.close()
    with pytest.raises(ConfigError, match="directory"):
        open_log(LogConfig())


def test_a_closed_log_says_so(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path)
    log.close()
    with pytest.raises(LogError, match="closed"):
        log.topics()


def test_everything_is_there_after_reopening(tmp_path: Path) -> None:
    with EmbeddedLog(tmp_path) as log:
        log.create_topic("t", 2, {"retention.ms": "-1"})
        log.append([some("t", 50)])
        before = values(log, "t")
    with EmbeddedLog(tmp_path) as log:
        assert values(log, "t") == before
        assert log.describe("t").config == {"retention.ms": "-1"}


def test_a_topic_made_anew_has_nothing_of_the_old_one(log: EmbeddedLog) -> None:
    log.create_topic("t")
    log.append([some("t", 3000)])
    log.delete_topic("t")
    log.create_topic("t")
    assert values(log, "t") == []


def test_arrow_batches_go_in_and_come_out(log: EmbeddedLog) -> None:
    log.create_topic("t", 2)
    batch = to_batch([b"a", b"b"], [b"1", None], [1, 2], [(("h", b"x"),), ()])
    outgoing = ArrowOutgoing("t", batch, partitions=1)
    assert (outgoing.keys, outgoing.headers) == ([b"a", b"b"], [(("h", b"x"),), ()])
    log.append([outgoing])
    (chunk,) = log.read({TopicPartition("t", 1): (0, 2)})
    assert isinstance(chunk, ArrowChunk)
    assert chunk.batch.equals(batch)
    assert chunk.values == [b"1", None]
    with pytest.raises(AttributeError, match="nonsense"):
        chunk.nonsense  # noqa: B018


def test_large_and_many_records_are_split_and_come_back_in_order(log: EmbeddedLog) -> None:
    log.create_topic("t")
    sizes = [10, 3_000_000, 10, 6_000_000, 2_000_000, *([1] * 60_000)]
    log.append([Outgoing("t", [b"k"] * len(sizes), [b"x" * size for size in sizes], list(range(len(sizes))))])
    chunks = list(log.read({TopicPartition("t", 0): (0, len(sizes))}))
    assert len(chunks) > 4
    assert [len(value or b"") for chunk in chunks for value in chunk.values] == sizes
    assert [offset for chunk in chunks for offset in chunk.offsets] == list(range(len(sizes)))


def test_what_many_tasks_write_to_a_partition_is_one_chunk(log: EmbeddedLog) -> None:
    log.create_topic("t")
    plain = [ArrowOutgoing("t", to_batch([b"k"], [b"%d" % i], [i]), partitions=0) for i in range(20)]
    plain.insert(7, ArrowOutgoing("t", to_batch([b"k"], [b"x"], [7], [(("h", b"1"),)]), partitions=0))
    log.append(plain)
    environment = log._environment
    with environment.read() as txn:
        assert txn.stat(environment.entries)["entries"] == 1
    (chunk,) = log.read({TopicPartition("t", 0): (0, 21)})
    assert chunk.values[:9] == [b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"x", b"7"]
    assert chunk.headers is not None
    assert [bool(row) for row in chunk.headers] == [index == 7 for index in range(21)]


def test_arrow_batches_of_other_shapes_are_taken(log: EmbeddedLog) -> None:
    log.create_topic("t")
    batch = pa.record_batch(
        {
            "timestamp": pa.array([5], pa.int32()),
            "value": pa.array([b"v"], pa.large_binary()),
            "extra": pa.array([1]),
            "key": pa.array([None], pa.binary()),
        }
    )
    log.append([ArrowOutgoing("t", batch)])
    assert rows(log, "t") == [(0, None, b"v", 5)]


def test_small_appends_are_read_as_one_chunk(log: EmbeddedLog) -> None:
    log.create_topic("t")
    for i in range(30):
        headers = [(("h", b"x"),)] if i == 7 else None
        log.append([Outgoing("t", [b"k"], [b"%d" % i], [i], headers)])
    (chunk,) = log.read({TopicPartition("t", 0): (2, 29)})
    assert list(chunk.offsets) == list(range(2, 29))
    assert chunk.headers is not None
    assert chunk.headers[5] == (("h", b"x"),)
    assert chunk.headers[6] == ()


def test_the_version_changes_with_every_append_only(log: EmbeddedLog) -> None:
    log.create_topic("t")
    before = log.version()
    values(log, "t")
    assert log.version() == before
    log.append([some("t", 1)])
    assert log.version() > before


def test_keys_go_to_the_partitions_of_kafkas_own_producers(log: EmbeddedLog) -> None:
    """The hashes were recorded from Kafka's own code."""
    recorded = [
        (bytes.fromhex(line.rpartition(" ")[0]), int(line.rpartition(" ")[2]))
        for line in (Path(__file__).parent / "data" / "murmur2.txt").read_text().splitlines()
    ]
    keys: list[bytes | None] = [key for key, _ in recorded]
    keys[::3] = [None] * len(keys[::3])
    log.create_topic("t", 7)
    log.append([Outgoing("t", keys, [key for key, _ in recorded], [1] * len(keys))])
    wanted = {key: (number & 0x7FFFFFFF) % 7 for key, number in recorded}
    turns = [0] * 7
    for partition in range(7):
        for _, key, value, _ in rows(log, "t", partition):
            if key is None:
                turns[partition] += 1
            else:
                assert wanted[key] == partition
                assert key == value
    assert max(turns) - min(turns) <= 1, "records without a key take turns"


def test_a_compacted_topic_wants_keys(log: EmbeddedLog) -> None:
    log.create_topic("t", 1, {"cleanup.policy": "compact"})
    with pytest.raises(LogError, match=r"`t` is compacted.*key"):
        log.append([Outgoing("t", [None], [b"1"], [1])])


@pytest.mark.parametrize(
    ("partitions", "config", "message"),
    [
        (0, {}, "at least one partition"),
        (1, {"cleanup.policy": "shrink"}, "`cleanup.policy`.*'shrink'"),
        (1, {"retention.ms": "a week"}, "`retention.ms`.*'a week'"),
        (1, {"retention.bytes": "-2"}, "`retention.bytes`.*0 or more, or -1 for no limit, got '-2'"),
        (1, {"delete.retention.ms": "-1"}, "`delete.retention.ms`.*0 or more, got '-1'"),
        (1, {"min.cleanable.dirty.ratio": "1.5"}, "`min.cleanable.dirty.ratio`.*0 to 1, got '1.5'"),
        (1, {"retention.byte": "1"}, "no setting `retention.byte`: did you mean `retention.bytes`"),
        (1, {"retention_ms": "1"}, "no setting `retention_ms`: did you mean `retention.ms`"),
        (1, {"colour": "red"}, "no setting `colour`: it heeds cleanup.policy, retention.ms"),
    ],
)
def test_wrong_settings_are_refused(
    log: EmbeddedLog, partitions: int, config: dict[str, str], message: str
) -> None:
    with pytest.raises(LogError, match=message):
        log.create_topic("t", partitions, config)


def test_settings_of_a_broker_that_mean_nothing_here_are_kept(log: EmbeddedLog) -> None:
    log.create_topic("t", 1, {"segment.ms": "60000"})
    assert log.describe("t").config == {"segment.ms": "60000"}


def test_wrong_changes_of_settings_change_nothing(log: EmbeddedLog) -> None:
    log.create_topic("t", 1, {"retention.ms": "5"})
    with pytest.raises(LogError, match="'never'"):
        log.alter_topic("t", {"retention.bytes": "7", "retention.ms": "never"})
    assert log.describe("t").config == {"retention.ms": "5"}


def test_a_misspelt_topic_gets_a_hint(log: EmbeddedLog) -> None:
    log.create_topic("transactions")
    with pytest.raises(LogError, match=r"`transaction` does not exist.*did you mean `transactions`"):
        log.describe("transaction")


def test_a_forked_child_is_told_to_open_the_log_itself(log: EmbeddedLog) -> None:
    log.create_topic("t")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        for attempt in (log.topics, lambda: EmbeddedLog(log.directory)):
            try:
                attempt()
            except BaseException as error:
                os.write(writing, f"{type(error).__name__}: {error}\n".encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        lines = answers.read().splitlines()
    assert len(lines) == 2
    assert all(line.startswith("LogError") and "fork" in line for line in lines)
    log.append([some("t", 1)])
    assert values(log, "t") == [b"v0"]


def test_processes_append_at_the_same_time(log: EmbeddedLog) -> None:
    log.create_topic("t", 2)
    code = """
        import sys
        from headrace.log import Outgoing
        from headrace.log.embedded import EmbeddedLog
        log = EmbeddedLog(sys.argv[1])
        for i in range(50):
            log.append([Outgoing("t", [b"k%d" % i], [sys.argv[2].encode()], [i])])
    """
    for process in [python(code, log.directory, number) for number in range(3)]:
        assert process.communicate()[1] == ""
    assert sorted(filter(None, values(log, "t"))) == [b"0"] * 50 + [b"1"] * 50 + [b"2"] * 50


HOLD = """
    import os, sys, time
    from headrace.log.embedded import EmbeddedLog
    publisher = EmbeddedLog(sys.argv[1]).publisher("app")
    begun, tell = os.pipe()
    child = os.fork()
    if child == 0:  # a child must not keep the lock when its parent is gone
        os.write(tell, b"!")  # from here on: on a busy machine a fork is not yet a child that runs
        time.sleep(60)
        os._exit(0)
    os.read(begun, 1)
    print(child, flush=True)
    time.sleep(60)
"""


def test_a_live_holder_is_named_and_a_dead_ones_lock_is_free_at_once(log: EmbeddedLog) -> None:
    process = python(HOLD, log.directory)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        with pytest.raises(AlreadyRunningError, match=f"process {process.pid} on host"):
            log.publisher("app")
        process.kill()
        process.wait()
        log.publisher("app").close()
    finally:
        process.kill()
        os.kill(child, signal.SIGKILL)


PUBLISH = """
    import sys
    from headrace.log import Outgoing, Publication, TopicPartition
    from headrace.log.embedded import EmbeddedLog
    publisher = EmbeddedLog(sys.argv[1]).publisher("app")
    number = int(publisher.last_commit() or b"0")
    while True:
        number += 1
        records = [Outgoing(topic, [b"k"] * 100, [b"%d" % number] * 100, [1] * 100) for topic in ("a", "b")]
        publisher.publish(
            Publication(records[:1], records[1:], {TopicPartition("in", 0): number}, lambda _: b"%d" % number)
        )
        print(number, flush=True)
"""


def test_kill_9_leaves_whole_commits_only(log: EmbeddedLog) -> None:
    for topic in ("a", "b"):
        log.create_topic(topic, 2)
    for pause in (0.0, 0.003, 0.011):
        process = python(PUBLISH, log.directory)
        assert process.stdout is not None
        seen = int(process.stdout.readline())
        time.sleep(pause)
        process.kill()
        seen = max([seen, *map(int, process.communicate()[0].split())])
        publisher = log.publisher("app")
        last = int(publisher.last_commit() or b"0")
        publisher.close()
        assert last >= seen
        assert log.positions("app") == {TopicPartition("in", 0): last}
        expected = sorted(b"%d" % number for number in range(1, last + 1) for _ in range(100))
        for topic in ("a", "b"):
            assert sorted(filter(None, values(log, topic))) == expected


def test_times_are_looked_for_from_an_offset_on(tmp_path: Path) -> None:
    with EmbeddedLog(tmp_path / "times") as log:
        log.create_topic("t", 1)
        for times in ([5, 90, 6], [7, 8], [91]):
            log.append([Outgoing("t", [None] * len(times), [b"v"] * len(times), times)])
        place = TopicPartition("t", 0)
        found = [log.offsets_for_times({place: 50}, since={place: since})[place] for since in range(7)]
        assert found == [1, 1, 5, 5, 5, 5, 6]
