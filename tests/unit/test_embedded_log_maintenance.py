"""Compaction keeps the newest record of each key at its offset; retention drops the oldest; nothing else is lost."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_contract import rows, some, values

from headrace.errors import OffsetOutOfRangeError
from headrace.log import Outgoing, Publication, TopicPartition
from headrace.log.embedded import EmbeddedLog, catalog, compaction, maintenance, upkeep

COMPACT = {"cleanup.policy": "compact", "delete.retention.ms": "1000"}


class Clock:
    now = 1_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(tmp_path: Path, clock: Clock) -> Iterator[EmbeddedLog]:
    with EmbeddedLog(tmp_path / "log", clock=clock) as opened:
        yield opened


def put(log: EmbeddedLog, *records: tuple[bytes, bytes | None]) -> None:
    keys, contents = zip(*records, strict=True)
    log.append([Outgoing("t", keys, contents, [1] * len(keys))])


def test_the_newest_record_of_each_key_stays_at_its_offset(log: EmbeddedLog) -> None:
    log.create_topic("t", 1, COMPACT)
    put(log, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    put(log, (b"c", b"1"), (b"b", b"2"))
    assert log.maintain().compacted == 2
    assert rows(log, "t") == [(2, b"a", b"2", 1), (3, b"c", b"1", 1), (4, b"b", b"2", 1)]
    assert log.earliest([TopicPartition("t", 0)]) == {TopicPartition("t", 0): 0}
    put(log, (b"a", b"3"))
    assert rows(log, "t")[-1] == (5, b"a", b"3", 1)


def test_ranges_within_gaps(log: EmbeddedLog) -> None:
    log.create_topic("t", 1, COMPACT)
    put(log, *[(b"a", b"%d" % i) for i in range(10)], (b"b", b"x"))
    log.maintain()
    place = TopicPartition("t", 0)
    assert list(log.read({place: (0, 5)})) == []
    assert [list(chunk.offsets) for chunk in log.read({place: (3, 10)})] == [[9]]
    assert [list(chunk.offsets) for chunk in log.read({place: (10, 11)})] == [[10]]


def test_tombstones_stay_for_their_time(log: EmbeddedLog, clock: Clock) -> None:
    log.create_topic("t", 1, {**COMPACT, "min.cleanable.dirty.ratio": "0.01"})
    put(log, (b"a", b"1"), (b"b", b"1"), (b"a", None))
    log.maintain()
    assert values(log, "t") == [b"1", None]
    clock.now += 999
    put(log, (b"c", b"1"))
    log.maintain()
    assert values(log, "t") == [b"1", None, b"1"]
    clock.now += 1
    put(log, (b"d", b"1"))
    log.maintain()
    assert values(log, "t") == [b"1", b"1", b"1"]


def test_compaction_waits_until_it_is_worth_it(log: EmbeddedLog) -> None:
    log.create_topic("t", 1, COMPACT)
    put(log, *[(b"%d" % i, b"1") for i in range(10)])
    log.maintain()
    put(log, (b"0", b"2"))
    assert log.maintain().compacted == 0
    put(log, *[(b"0", b"3") for _ in range(20)])
    assert log.maintain().compacted == 21


def test_what_is_young_is_not_compacted(log: EmbeddedLog, clock: Clock) -> None:
    log.create_topic("t", 1, {**COMPACT, "min.compaction.lag.ms": "100", "min.cleanable.dirty.ratio": "0"})
    for time in (1_000, 1_050, 1_060, 1_100, 1_110):
        log.append([Outgoing("t", [b"a"], [b"%d" % time], [time])])
        log.maintain()
    assert values(log, "t") == [b"1000", b"1050", b"1060", b"1100", b"1110"]
    log.append([Outgoing("t", [b"a"], [b"1155"], [1_155])])
    log.maintain()
    assert values(log, "t") == [b"1050", b"1060", b"1100", b"1110", b"1155"], "by the time of the partition"
    clock.now = 1_100
    log.append([Outgoing("t", [b"a"], [b"9000"], [9_000])])
    assert log.maintain().compacted == 0, "and by the clock: a record from the future changes nothing"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), min_size=1, max_size=9), max_size=9)
)
def test_compaction_never_changes_what_a_table_would_hold(
    tmp_path_factory: pytest.TempPathFactory, appends: list[list[tuple[int, int]]]
) -> None:
    with EmbeddedLog(tmp_path_factory.mktemp("log")) as log:
        log.create_topic("t", 1, {**COMPACT, "min.cleanable.dirty.ratio": "0"})
        table: dict[bytes, bytes | None] = {}
        for append in appends:
            changes = [(b"%d" % key, b"%d" % value if value else None) for key, value in append]
            put(log, *changes)
            table.update(changes)
            log.maintain()
            assert {row[1]: row[2] for row in rows(log, "t")} == table
            assert len(rows(log, "t")) == len(table)


def test_retention_drops_whole_old_entries(log: EmbeddedLog, clock: Clock) -> None:
    log.create_topic("t", 1, {"retention.ms": "500"})
    for timestamp in (999_000, 999_600, 1_000_000):
        log.append([Outgoing("t", [b"k", b"k"], [b"%d" % timestamp] * 2, [timestamp] * 2)])
    assert log.maintain().expired == 2
    place = TopicPartition("t", 0)
    assert log.earliest([place]) == {place: 2}
    assert [row[0] for row in rows(log, "t")] == [2, 3, 4, 5]
    with pytest.raises(OffsetOutOfRangeError, match=r"`t`, partition 0: wanted offsets 1 to 3.*2 to 5"):
        list(log.read({place: (1, 4)}))
    clock.now += 10_000
    assert log.maintain().expired == 0, "the newest of a partition's own time stay"


def test_history_that_is_replayed_does_not_vanish(log: EmbeddedLog) -> None:
    log.create_topic("t", 1, {"retention.ms": "500"})
    log.append([some("t", 3)])
    log.maintain()
    assert len(values(log, "t")) == 3


def test_without_a_retention_records_stay_for_ever(log: EmbeddedLog, clock: Clock) -> None:
    log.create_topic("t", 1)
    log.append([some("t", 3)])
    clock.now += 10**12
    log.append([Outgoing("t", [b"k"], [b"new"], [clock.now])])
    assert log.maintain().expired == 0
    assert len(values(log, "t")) == 4


def fill(log: EmbeddedLog, entries: int, size: int = 10_000) -> None:
    for number in range(entries):
        log.append([Outgoing("t", [b"k"], [b"%d" % number + bytes(size)], [number], partitions=0)])


def test_retention_by_size_keeps_the_newest_of_each_partition(log: EmbeddedLog) -> None:
    log.create_topic("t", 2, {"retention.bytes": "25000"})
    fill(log, 10)
    log.append([Outgoing("t", [b"k"], [b"the other"], [1], partitions=1)])
    assert log.maintain().expired == 7, "three entries of ten thousand bytes are the fewest that hold 25,000"
    place = TopicPartition("t", 0)
    assert log.earliest([place]) == {place: 7}
    assert log.latest([place]) == {place: 10}
    assert [row[0] for row in rows(log, "t", 0)] == [7, 8, 9]
    assert rows(log, "t", 1) == [(0, b"k", b"the other", 1)]
    with pytest.raises(OffsetOutOfRangeError, match=r"`t`, partition 0: wanted offsets 6 to 8.*7 to 9"):
        list(log.read({place: (6, 9)}))
    assert log.maintain().expired == 0


def test_one_record_that_is_larger_than_the_retention_stays(log: EmbeddedLog) -> None:
    log.create_topic("t", 1, {"retention.bytes": "0"})
    fill(log, 3)
    assert log.maintain().expired == 2
    assert [row[0] for row in rows(log, "t")] == [2]


def test_time_and_size_together_and_settings_that_change(log: EmbeddedLog) -> None:
    log.create_topic("t", 1, {"retention.bytes": "55000", "retention.ms": "7"})
    fill(log, 10)
    assert log.maintain().expired == 4, "the size leaves six, the time eight"
    log.alter_topic("t", {"retention.ms": "2"})
    assert log.describe("t").config == {"retention.bytes": "55000", "retention.ms": "2"}
    assert log.maintain().expired == 3
    log.alter_topic("t", {"retention.ms": None, "retention.bytes": None})
    assert log.describe("t").config == {}
    assert log.maintain().expired == 0
    log.alter_topic("t", {"cleanup.policy": "compact"})
    assert log.maintain().compacted == 2


def test_both_policies_drop_old_keys_and_replaced_ones(log: EmbeddedLog, clock: Clock) -> None:
    log.create_topic("t", 1, {"cleanup.policy": "compact,delete", "retention.ms": "100"})
    for key, timestamp in [(b"old", 1_000), (b"a", 1_150), (b"a", 1_160), (b"b", 1_170)]:
        log.append([Outgoing("t", [key], [b"%d" % timestamp], [timestamp])])
    clock.now = 1_200
    done = log.maintain()
    assert (done.expired, done.compacted) == (1, 1)
    assert rows(log, "t") == [(2, b"a", b"1160", 1160), (3, b"b", b"1170", 1170)]


def test_a_compacted_topic_is_not_shortened_by_size(log: EmbeddedLog) -> None:
    log.create_topic("t", 1, {"cleanup.policy": "compact", "retention.bytes": "1"})
    put(log, (b"a", b"1"), (b"b", b"2"))
    put(log, (b"c", b"3"))
    assert log.maintain().expired == 0


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 4_000)), min_size=1, max_size=25),
    st.integers(0, 30_000),
    st.integers(0, 300),
)
def test_retention_takes_only_what_is_due(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[int, int]], room: int, age: int
) -> None:
    """Whatever goes is the oldest, and either past its time or beyond the room; the rest is still whole."""
    clock = Clock()
    clock.now = 150
    with EmbeddedLog(tmp_path_factory.mktemp("log"), clock=clock) as log:
        log.create_topic("t", 1, {"retention.bytes": str(room), "retention.ms": str(age)})
        for time, size in entries:
            log.append([Outgoing("t", [b"k"], [bytes(size)], [time])])
        gone = log.maintain().expired
        left = rows(log, "t")
        assert [row[0] for row in left] == list(range(gone, len(entries)))
        assert [len(row[2] or b"") for row in left] == [size for _, size in entries[gone:]]
        newest = min(clock.now, max(time for time, _ in entries))
        for number in range(gone):
            too_old = entries[number][0] < newest - age
            assert too_old or sum(size for _, size in entries[number + 1 :]) + 600 * len(entries) >= room
        assert left, "the newest always stays"


def test_a_topic_made_anew_under_the_upkeep_is_left_alone(log: EmbeddedLog) -> None:
    """The upkeep has looked at the topics already when one of them is replaced by another of its name."""
    log.create_topic("t", 2, {"retention.ms": "0", "cleanup.policy": "compact,delete"})
    put(log, (b"a", b"1"), (b"a", b"2"))
    environment = log._environment
    with environment.read() as txn:
        old = catalog.find(txn, environment, "t")
    log.delete_topic("t")
    log.create_topic("t", 1)
    put(log, (b"a", b"new"))
    assert compaction.compact(environment, old, 0, 1_000_000) == 0
    assert maintenance._expire(environment, old, 1, 1_000_000) == 0
    assert values(log, "t") == [b"new"]


def test_small_entries_are_joined_without_a_visible_change(log: EmbeddedLog) -> None:
    log.create_topic("t", 2)
    for i in range(300):
        headers = [(("h", b"x"),)] if i % 50 == 0 else None
        log.append([Outgoing("t", [b"%d" % i], [b"v"], [i], headers)])
    before = [rows(log, "t", 0), rows(log, "t", 1)]
    assert log.maintain().joined == 300
    assert [rows(log, "t", 0), rows(log, "t", 1)] == before
    assert log.maintain().joined == 0
    assert log.offsets_for_times({TopicPartition("t", 0): 150}) == {
        TopicPartition("t", 0): next(row[0] for row in before[0] if row[3] >= 150)
    }


def test_reading_goes_on_while_entries_are_joined(log: EmbeddedLog) -> None:
    log.create_topic("t")
    for i in range(40):
        log.append([Outgoing("t", [b"k"], [bytes(600_000)], [i])])
    for i in range(100):
        log.append([Outgoing("t", [b"k"], [b"v"], [i])])
    reading = log.read({TopicPartition("t", 0): (0, 140)})
    offsets = list(next(reading).offsets)
    log.maintain()
    for chunk in reading:
        offsets += chunk.offsets
    assert offsets == list(range(140))


def test_upkeep_beside_a_publisher_and_a_reader(log: EmbeddedLog) -> None:
    """All in one process, from three threads: nobody waits for ever, and nothing is lost."""
    log.create_topic("t", 2, {**COMPACT, "min.cleanable.dirty.ratio": "0"})
    publisher = log.publisher("app")
    done = threading.Event()
    failed: list[BaseException] = []

    def again_and_again(work: Callable[[], object]) -> None:
        try:
            while not done.is_set():
                work()
        except BaseException as error:
            failed.append(error)

    threads = [
        threading.Thread(target=again_and_again, args=(work,))
        for work in (log.maintain, lambda: values(log, "t"))
    ]
    for thread in threads:
        thread.start()
    for number in range(200):
        keys = [b"%d" % (number % 7), b"%d" % (number % 11)]
        records = Outgoing("t", keys, [b"%d" % number] * 2, [1, 1], partitions=[0, 1])
        publisher.publish(Publication([], [records], {}, lambda ends: b"x"))
    done.set()
    for thread in threads:
        thread.join()
    publisher.close()
    assert failed == []
    log.maintain()
    newest = [{b"%d" % (number % size): b"%d" % number for number in range(200)} for size in (7, 11)]
    assert [{row[1]: row[2] for row in rows(log, "t", partition)} for partition in (0, 1)] == newest


def test_an_endless_changelog_does_not_grow_for_ever(log: EmbeddedLog, clock: Clock) -> None:
    """Forty rounds write forty times as much as the first one, and the file stays as large as it soon was."""
    log.create_topic("t", 1, {**COMPACT, "min.cleanable.dirty.ratio": "0.5"})
    log.create_topic("out", 1, {"retention.bytes": "100000"})
    publisher = log.publisher("app")
    chance = random.Random(5)
    sizes = []
    for _ in range(40):
        for _ in range(8):
            keys = [b"key-%03d" % chance.randrange(500) for _ in range(chance.randrange(200, 500))]
            values = [None if chance.random() < 0.1 else chance.randbytes(100) for _ in keys]
            changes = Outgoing("t", keys, values, [clock.now] * len(keys))
            output = Outgoing("out", keys, values, [clock.now] * len(keys))
            publisher.publish(Publication([output], [changes], {}, lambda ends: b"x"))
        clock.now += 600
        log.maintain()
        sizes.append((log.directory / "data.mdb").stat().st_size)
    publisher.close()
    assert sizes[-1] <= 1.3 * sizes[9], sizes
    assert sizes[-1] < 8_000_000, "about 17 MB were written"
    keys_left = [row[1] for row in rows(log, "t")]
    assert len(keys_left) < 2 * 500 + 8 * 500


def test_what_a_deleted_topic_left_is_removed_later(log: EmbeddedLog) -> None:
    log.create_topic("t")
    log.append([some("t", 3)])
    environment = log._environment
    with environment.read() as txn:
        entries = txn.stat(environment.entries)["entries"]
    log.delete_topic("t")
    log.maintain()
    with environment.read() as txn:
        assert txn.stat(environment.entries)["entries"] == entries - 1


def test_the_thread_of_the_upkeep_outlives_whatever_goes_wrong(
    log: EmbeddedLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rounds = threading.Semaphore(0)

    def fail(*_: object) -> None:
        rounds.release()
        raise ValueError("a damaged entry")

    monkeypatch.setattr(upkeep, "_FIRST_SECONDS", 0.001)
    monkeypatch.setattr(upkeep, "_EVERY_SECONDS", 0.001)
    monkeypatch.setattr(maintenance, "run", fail)
    made = upkeep.Upkeep(log.directory)
    assert rounds.acquire(timeout=10)
    assert rounds.acquire(timeout=10), "it is tried again"
    made.close()
    assert "the upkeep of the log has failed, and will be tried again" in caplog.text
