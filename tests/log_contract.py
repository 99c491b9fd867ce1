"""What every topic log must do; the embedded log's and Kafka's tests both inherit it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from headrace.errors import AlreadyRunningError, FencedError, LogError, OffsetOutOfRangeError
from headrace.log import Outgoing, Publication, TopicLog, TopicPartition
from headrace.partitioning import partition_for
from headrace.record import Headers

Row = tuple[int, bytes | None, bytes | None, int]


def rows(log: TopicLog, topic: str, partition: int = 0) -> list[Row]:
    """All that a reader of committed records sees of a partition."""
    place = TopicPartition(topic, partition)
    start, end = log.earliest([place])[place], log.latest([place])[place]
    found: list[Row] = []
    for chunk in log.read({place: (start, end)}):
        assert (chunk.topic, chunk.partition) == (topic, partition)
        found += zip(chunk.offsets, chunk.keys, chunk.values, chunk.timestamps, strict=True)
    return found


def values(log: TopicLog, topic: str) -> list[bytes | None]:
    """The values of every partition, one after the other."""
    return [row[2] for partition in range(log.topics()[topic]) for row in rows(log, topic, partition)]


def committed(log: TopicLog, topic: str, count: int) -> list[bytes | None]:
    """The values once there are `count` of them: Kafka says yes to a commit a moment before readers see it."""
    deadline = time.monotonic() + 10
    while len(found := values(log, topic)) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def some(topic: str, count: int, first: int = 0) -> Outgoing:
    """Numbered records of one topic."""
    numbers = range(first, first + count)
    return Outgoing(topic, [b"k%d" % i for i in numbers], [b"v%d" % i for i in numbers], list(numbers))


def says(record: bytes) -> Callable[[Mapping[TopicPartition, int]], bytes]:
    """A commit record that does not depend on the ends."""
    return lambda ends: record


class TopicLogContract:
    """Needs the fixtures `log` and `name` (a prefix that no other test uses)."""

    def test_topics_are_made_described_and_deleted(self, log: TopicLog, name: str) -> None:
        log.create_topic(name, 3, {"cleanup.policy": "compact"})
        assert log.topics()[name] == 3
        assert log.describe(name).partitions == 3
        assert log.describe(name).config["cleanup.policy"] == "compact"
        log.delete_topic(name)
        assert name not in log.topics()

    def test_settings_change(self, log: TopicLog, name: str) -> None:
        log.create_topic(name, 1, {"retention.ms": "10000", "cleanup.policy": "compact,delete"})
        log.alter_topic(name, {"retention.ms": None, "retention.bytes": "5000"})
        found = log.describe(name).config
        assert (found.get("retention.bytes"), found.get("retention.ms")) == ("5000", None)
        assert found["cleanup.policy"] == "compact,delete"
        with pytest.raises(LogError, match=f"{name}-absent"):
            log.alter_topic(f"{name}-absent", {"retention.ms": "1"})

    def test_a_topic_is_made_once(self, log: TopicLog, name: str) -> None:
        log.create_topic(name)
        with pytest.raises(LogError, match=f"`{name}`.*exists"):
            log.create_topic(name)

    def test_a_wrong_name_is_refused(self, log: TopicLog) -> None:
        with pytest.raises(LogError, match="a b"):
            log.create_topic("a b")

    def test_a_missing_topic_is_named(self, log: TopicLog, name: str) -> None:
        for attempt in (
            lambda: log.describe(name),
            lambda: log.delete_topic(name),
            lambda: log.alter_topic(name, {}),
            lambda: log.append([some(name, 1)]),
            lambda: log.latest([TopicPartition(name, 0)]),
            lambda: list(log.read({TopicPartition(name, 0): (0, 1)})),
        ):
            with pytest.raises(LogError, match=name):
                attempt()

    def test_records_come_back_as_they_were(self, log: TopicLog, name: str) -> None:
        log.create_topic(name)
        keys: Sequence[bytes | None] = [b"a", None, b"", b"b"]
        sent: Sequence[bytes | None] = [b"1", b"2", None, b""]
        headers: Sequence[Headers] = [(), (("h", b"x"), ("h", None)), (), (("i", b""),)]
        log.append([Outgoing(name, keys, sent, [5, 4, 3, 1_700_000_000_000], headers)])
        (chunk,) = log.read({TopicPartition(name, 0): (0, 4)})
        assert list(chunk.offsets) == [0, 1, 2, 3]
        assert list(chunk.keys) == keys
        assert list(chunk.values) == sent
        assert list(chunk.timestamps) == [5, 4, 3, 1_700_000_000_000]
        assert chunk.headers is not None
        assert list(chunk.headers) == headers
        assert len(chunk) == 4

    def test_headers_are_none_where_nobody_has_any(self, log: TopicLog, name: str) -> None:
        log.create_topic(name)
        log.append([some(name, 2)])
        (chunk,) = log.read({TopicPartition(name, 0): (0, 2)})
        assert chunk.headers is None

    def test_the_key_decides_the_partition(self, log: TopicLog, name: str) -> None:
        log.create_topic(name, 5)
        log.append([some(name, 200)])
        for partition in range(5):
            found = rows(log, name, partition)
            assert found == sorted(found)
            for _, key, _, _ in found:
                assert key is not None
                assert partition_for(key, 5) == partition
        assert sorted(filter(None, values(log, name))) == sorted(b"v%d" % i for i in range(200))

    def test_the_caller_may_decide_the_partition(self, log: TopicLog, name: str) -> None:
        log.create_topic(name, 3)
        log.append([Outgoing(name, [b"a"] * 3, [b"1", b"2", b"3"], [1, 2, 3], partitions=[2, 0, 2])])
        log.append([Outgoing(name, [b"a"], [b"4"], [4], partitions=1)])
        assert values(log, name) == [b"2", b"4", b"1", b"3"]
        with pytest.raises(LogError, match="3"):
            log.append([Outgoing(name, [b"a"], [b"5"], [4], partitions=3)])

    def test_records_without_a_key_reach_every_partition(self, log: TopicLog, name: str) -> None:
        log.create_topic(name, 3)
        for i in range(4):
            log.append([Outgoing(name, [None] * 10, [b"%d" % i] * 10, [1] * 10)])
        assert all(len(rows(log, name, partition)) >= 10 for partition in range(3))

    def test_ranges_of_many_partitions(self, log: TopicLog, name: str) -> None:
        log.create_topic(name, 2)
        for first in range(0, 100, 10):
            for partition in range(2):
                numbers = range(first, first + 10)
                log.append(
                    [Outgoing(name, [b"k"] * 10, [b"%d" % i for i in numbers], [1] * 10, None, partition)]
                )
        wanted = {TopicPartition(name, 0): (5, 37), TopicPartition(name, 1): (50, 51)}
        found: dict[int, list[int]] = {0: [], 1: []}
        for chunk in log.read(wanted):
            assert [int(value or b"") for value in chunk.values] == list(chunk.offsets)
            found[chunk.partition] += chunk.offsets
        assert found == {0: list(range(5, 37)), 1: [50]}
        assert list(log.read({TopicPartition(name, 0): (7, 7)})) == []

    def test_reading_what_is_not_there_names_both_offsets(self, log: TopicLog, name: str) -> None:
        log.create_topic(name)
        log.append([some(name, 4)])
        for wanted in [(2, 9), (50, 60)]:
            with pytest.raises(OffsetOutOfRangeError, match=rf"`{name}`.*partition 0.*{wanted[0]}.*0 to 3"):
                list(log.read({TopicPartition(name, 0): wanted}))

    def test_offsets_for_times(self, log: TopicLog, name: str) -> None:
        log.create_topic(name)
        log.append([Outgoing(name, [b"k"] * 3, [b"v"] * 3, [100, 300, 200])])
        log.append([Outgoing(name, [b"k"] * 2, [b"v"] * 2, [400, 500])])
        place = TopicPartition(name, 0)
        expected = {0: 0, 100: 0, 101: 1, 301: 3, 401: 4, 501: 5}
        assert {at: log.offsets_for_times({place: at})[place] for at in expected} == expected

    def test_an_empty_append_is_nothing(self, log: TopicLog, name: str) -> None:
        log.create_topic(name)
        log.append([Outgoing(name, [], [], [])])
        assert log.latest([TopicPartition(name, 0)]) == {TopicPartition(name, 0): 0}

    def test_one_append_over_many_topics_is_all_or_nothing(self, log: TopicLog, name: str) -> None:
        log.create_topic(name)
        with pytest.raises(LogError, match=f"{name}-absent"):
            log.append([some(name, 3), some(f"{name}-absent", 1)])
        assert rows(log, name) == []

    def test_a_publication_is_seen_as_a_whole(self, log: TopicLog, name: str) -> None:
        for topic in ("in", "out", "store-changelog"):
            log.create_topic(f"{name}-{topic}", 2)
        changelog = f"{name}-store-changelog"
        publisher = log.publisher(name)
        assert publisher.last_commit() is None
        given: list[Mapping[TopicPartition, int]] = []

        def commit(ends: Mapping[TopicPartition, int]) -> bytes:
            given.append(ends)
            return b"commit 1"

        positions = {TopicPartition(f"{name}-in", 0): 7, TopicPartition(f"{name}-in", 1): 0}
        changes = [Outgoing(changelog, [b"a", b"b"], [b"1", None], [1, 2], partitions=1)]
        ends = publisher.publish(Publication([some(f"{name}-out", 4)], changes, positions, commit))
        assert ends == given[0]
        assert set(ends) == {TopicPartition(changelog, 1)}
        assert ends[TopicPartition(changelog, 1)] >= 2
        assert publisher.last_commit() == b"commit 1"
        publisher.close()
        assert sorted(filter(None, committed(log, f"{name}-out", 4))) == [b"v0", b"v1", b"v2", b"v3"]
        assert committed(log, changelog, 2) == [b"1", None]
        assert log.positions(name) == positions

    def test_the_ends_of_changelogs_can_be_read_to(self, log: TopicLog, name: str) -> None:
        changelog = f"{name}-store-changelog"
        log.create_topic(changelog, 1)
        publisher = log.publisher(name)
        place = TopicPartition(changelog, 0)
        start = 0
        for number in range(3):
            publication = Publication([], [some(changelog, 5, 5 * number)], {}, says(b"%d" % number))
            end = publisher.publish(publication)[place]
            seen = [value for chunk in log.read({place: (start, end)}) for value in chunk.values]
            assert seen == [b"v%d" % i for i in range(5 * number, 5 * number + 5)]
            start = end
        publisher.close()

    def test_records_that_nobody_needs_any_more_can_be_deleted(self, log: TopicLog, name: str) -> None:
        topic = f"{name}-read-once"
        log.create_topic(topic, 2)
        first, other = TopicPartition(topic, 0), TopicPartition(topic, 1)
        for number in range(3):
            records = some(topic, 5, 5 * number)
            records.partitions = 0
            log.append([records])
        log.delete_records({first: 10, other: 0})
        assert log.earliest([first, other]) == {first: 10, other: 0}
        assert log.latest([first, other]) == {first: 15, other: 0}
        seen = [value for chunk in log.read({first: (10, 15)}) for value in chunk.values]
        assert seen == [b"v%d" % i for i in range(10, 15)]
        log.delete_records({first: 15})
        assert log.earliest([first]) == log.latest([first]) == {first: 15}

    def test_the_next_publisher_finds_the_last_commit(self, log: TopicLog, name: str) -> None:
        for number in range(3):
            publisher = log.publisher(name)
            assert publisher.last_commit() == (b"%d" % (number - 1) if number else None)
            publisher.publish(Publication([], [], {}, says(b"%d" % number)))
            publisher.close()

    def test_what_is_kept_beside_the_commit_stays_until_it_is_replaced(
        self, log: TopicLog, name: str
    ) -> None:
        assert (log.committed(name), log.committed(name, "plan")) == (None, None)
        found = []
        for number, kept in enumerate(({"plan": b"a", "more": b"x"}, {}, {"plan": b"b"}, {"plan": None})):
            publisher = log.publisher(name)
            publisher.publish(Publication([], [], {}, says(b"%d" % number), kept))
            publisher.close()
            log.publisher(name).close()  # now the last transaction is complete on a broker, too
            found.append((log.committed(name), log.committed(name, "plan"), log.committed(name, "more")))
        assert found == [
            (b"0", b"a", b"x"),
            (b"1", b"a", b"x"),
            (b"2", b"b", b"x"),
            (b"3", None, b"x"),
        ]

    def test_what_is_kept_is_not_there_without_the_commit(self, log: TopicLog, name: str) -> None:
        publisher = log.publisher(name)
        publisher.publish(Publication([], [], {}, says(b"0"), {"plan": b"a"}))
        with pytest.raises(ZeroDivisionError):
            publisher.publish(Publication([], [], {}, lambda ends: b"%d" % (1 // 0), {"plan": b"b"}))
        publisher.close()
        log.publisher(name).close()
        assert log.committed(name, "plan") == b"a"

    def test_positions_are_forgotten(self, log: TopicLog, name: str) -> None:
        log.create_topic(name)
        place = TopicPartition(name, 0)
        log.forget_positions(name)
        publisher = log.publisher(name)
        publisher.publish(Publication([], [], {place: 7}, says(b"0")))
        publisher.close()
        log.publisher(name).close()
        assert log.positions(name) == {place: 7}
        log.forget_positions(name)
        assert log.positions(name) == {}
        assert log.committed(name) == b"0"

    def test_a_second_publisher_is_refused(self, log: TopicLog, name: str) -> None:
        publisher = log.publisher(name)
        with pytest.raises(AlreadyRunningError, match=rf"`{name}` is already running.*process \d+"):
            log.publisher(name)
        publisher.publish(Publication([], [], {}, says(b"still mine")))
        publisher.close()
        log.publisher(name).close()

    def test_taking_over_fences_the_first(self, log: TopicLog, name: str) -> None:
        log.create_topic(f"{name}-out")
        first = log.publisher(name)
        first.publish(Publication([some(f"{name}-out", 1)], [], {}, says(b"first")))
        second = log.publisher(name, take_over=True)
        with pytest.raises(FencedError, match=name):
            first.publish(Publication([some(f"{name}-out", 1, 1)], [], {}, says(b"zombie")))
        assert second.last_commit() == b"first"
        first.close()
        with pytest.raises(AlreadyRunningError):
            log.publisher(name)
        second.publish(Publication([some(f"{name}-out", 1, 2)], [], {}, says(b"second")))
        second.close()
        assert committed(log, f"{name}-out", 2) == [b"v0", b"v2"]

    def test_a_failing_commit_record_leaves_nothing(self, log: TopicLog, name: str) -> None:
        log.create_topic(f"{name}-out")
        publisher = log.publisher(name)

        def fail(ends: Mapping[TopicPartition, int]) -> bytes:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            publisher.publish(Publication([some(f"{name}-out", 1)], [], {}, fail))
        publisher.publish(Publication([some(f"{name}-out", 1, 1)], [], {}, says(b"good")))
        assert publisher.last_commit() == b"good"
        publisher.close()
        assert committed(log, f"{name}-out", 1) == [b"v1"]

    def test_publishing_to_a_missing_topic_names_it_and_leaves_nothing(
        self, log: TopicLog, name: str
    ) -> None:
        log.create_topic(f"{name}-out")
        publisher = log.publisher(name)
        outputs = [some(f"{name}-out", 1), some(f"{name}-absent", 1)]
        with pytest.raises(LogError, match=f"{name}-absent"):
            publisher.publish(Publication(outputs, [], {}, says(b"x")))
        assert publisher.last_commit() is None
        publisher.close()
        assert values(log, f"{name}-out") == []

    def test_a_closed_publisher_says_so(self, log: TopicLog, name: str) -> None:
        publisher = log.publisher(name)
        publisher.close()
        publisher.close()
        with pytest.raises(LogError, match="closed"):
            publisher.publish(Publication([], [], {}, says(b"x")))
