"""Reading from a real broker: any range in any order, nothing twice, and never a wait for ever."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping

import pytest
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from log_contract import some

from headrace.errors import BrokerNotReachableError, ConfigError, LogError, OffsetOutOfRangeError
from headrace.log import LogConfig, Outgoing, Publication, TopicLog, TopicPartition, open_log
from tests.kafka.broker import Broker

Ranges = Mapping[TopicPartition, tuple[int, int]]


def fill(log: TopicLog, topic: str, counts: list[int]) -> None:
    log.create_topic(topic, len(counts))
    for partition, count in enumerate(counts):
        numbers = [b"%d" % number for number in range(count)]
        log.append([Outgoing(topic, numbers, numbers, [1] * count, partitions=partition)])


def offsets(log: TopicLog, ranges: Ranges) -> dict[TopicPartition, list[int]]:
    found: dict[TopicPartition, list[int]] = {place: [] for place in ranges}
    for chunk in log.read(ranges):
        assert [int(value or b"") for value in chunk.values] == list(chunk.offsets)
        found[TopicPartition(chunk.topic, chunk.partition)] += chunk.offsets
    return found


def test_ranges_in_any_order(log: TopicLog, name: str) -> None:
    """Going on, going back, jumping, leaving partitions out: each way of moving the consumer."""
    counts = [400, 30_000, 90_000]
    fill(log, name, counts)
    seed = random.Random(7)
    for _ in range(60):
        ranges = {}
        for partition in seed.sample(range(3), seed.randint(1, 3)):
            start = seed.randrange(counts[partition])
            length = seed.choice([0, 1, 100, 25_000])
            ranges[TopicPartition(name, partition)] = (start, min(start + length, counts[partition]))
        expected = {place: list(range(*span)) for place, span in ranges.items()}
        assert offsets(log, ranges) == expected


def test_one_range_after_the_other(log: TopicLog, name: str) -> None:
    """What the consumer has fetched beyond a range is kept for the next one, also where others read in between."""
    fill(log, name, [90_000, 90_000])
    for start in range(0, 90_000, 9_000):
        for partition in (0, 1):
            ranges = {TopicPartition(name, partition): (start, start + 9_000)}
            assert offsets(log, ranges) == {place: list(range(*span)) for place, span in ranges.items()}


def test_a_topic_made_anew_is_not_the_matter_of_who_reads_another(log: TopicLog, name: str) -> None:
    """The consumer still reads ahead in the old one, at offsets that the new one does not have."""
    other = f"{name}-other"
    fill(log, name, [30])
    fill(log, other, [3_000])
    assert offsets(log, {TopicPartition(name, 0): (0, 30)})
    log.delete_topic(name)
    fill(log, name, [0])
    until = time.monotonic() + 4
    while time.monotonic() < until:
        for start in range(0, 3_000, 100):
            place = TopicPartition(other, 0)
            assert offsets(log, {place: (start, start + 100)}) == {place: list(range(start, start + 100))}
    with pytest.raises(OffsetOutOfRangeError, match="made anew"):
        offsets(log, {TopicPartition(name, 0): (30, 31)})


def test_reads_within_reads(log: TopicLog, name: str) -> None:
    fill(log, name, [50_000, 50_000])
    first, second = TopicPartition(name, 0), TopicPartition(name, 1)
    found: list[int] = []
    for chunk in log.read({first: (0, 50_000)}):
        found += chunk.offsets
        assert offsets(log, {second: (10, 20)}) == {second: list(range(10, 20))}
        assert offsets(log, {first: (5, 9)}) == {first: [5, 6, 7, 8]}
    assert found == list(range(50_000))


def test_a_read_that_is_given_up_does_no_harm(log: TopicLog, name: str) -> None:
    fill(log, name, [50_000])
    place = TopicPartition(name, 0)
    reading = log.read({place: (0, 50_000)})
    assert isinstance(reading, Iterator)
    next(reading)
    del reading
    assert offsets(log, {place: (10, 30_000)}) == {place: list(range(10, 30_000))}


def test_ranges_that_end_in_a_transactions_marker(log: TopicLog, name: str) -> None:
    """A marker is an offset that no consumer ever sees."""
    log.create_topic(f"{name}-out")
    place = TopicPartition(f"{name}-out", 0)
    publisher = log.publisher(name)
    for number in range(3):
        publisher.publish(Publication([some(place.topic, 2, 2 * number)], [], {}, lambda ends: b"x"))
    publisher.close()
    found = [list(chunk.values) for span in [(0, 3), (3, 6), (6, 9)] for chunk in log.read({place: span})]
    assert found == [[b"v0", b"v1"], [b"v2", b"v3"], [b"v4", b"v5"]]
    assert [list(chunk.offsets) for chunk in log.read({place: (1, 4)})] == [[1, 3]]
    assert list(log.read({place: (2, 3)})) == []


def test_offsets_that_are_gone_are_named(log: TopicLog, broker: Broker, name: str) -> None:
    fill(log, name, [100])
    place = TopicPartition(name, 0)
    offsets(log, {place: (0, 10)})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    (future,) = admin.delete_records([Place(name, 0, 40)]).values()
    future.result()
    assert log.earliest([place]) == {place: 40}
    message = rf"topic `{name}`, partition 0: wanted offsets 20 to 59, available are 40 to 99"
    with pytest.raises(OffsetOutOfRangeError, match=message):
        list(
            open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers, kafka={"client.id": name})).read(
                {place: (20, 60)}
            )
        )
    assert offsets(log, {place: (50, 60)}) == {place: list(range(50, 60))}


def test_a_topic_made_anew_is_read_from_its_own_beginning(log: TopicLog, name: str) -> None:
    fill(log, name, [10])
    place = TopicPartition(name, 0)
    assert len(offsets(log, {place: (0, 10)})[place]) == 10
    log.delete_topic(name)
    with pytest.raises(LogError, match=name):
        list(log.read({place: (10, 11)}))
    fill(log, name, [3])
    assert offsets(log, {place: (0, 3)}) == {place: [0, 1, 2]}


def test_topics_made_anew_again_and_again_while_others_are_read(log: TopicLog, name: str) -> None:
    """The consumer is in the middle of the old one, or has just heard that it is gone."""
    other = f"{name}-other"
    fill(log, other, [1_000])
    places = [TopicPartition(name, number) for number in range(3)]
    for round_ in range(12):
        counts = [5 + (round_ * (number + 1)) % 4 for number in range(3)]
        fill(log, name, counts)
        wanted = {place: (0, count - 1) for place, count in zip(places, counts, strict=True)}
        assert offsets(log, wanted) == {place: list(range(end)) for place, (_, end) in wanted.items()}
        aside = {TopicPartition(other, 0): (0, 1_000)}
        assert offsets(log, aside) == {TopicPartition(other, 0): list(range(1_000))}
        log.delete_topic(name)


def test_a_partition_that_does_not_exist_is_named(log: TopicLog, name: str) -> None:
    fill(log, name, [1])
    for attempt in (
        lambda: log.latest([TopicPartition(name, 5)]),
        lambda: list(log.read({TopicPartition(name, 5): (0, 1)})),
    ):
        with pytest.raises(LogError, match=f"`{name}` has partitions 0 to 0, got partition 5"):
            attempt()


def test_a_broker_that_is_not_there_is_named() -> None:
    log = open_log(LogConfig(bootstrap_servers="127.0.0.1:1"))
    with pytest.raises(BrokerNotReachableError, match=r"`127\.0\.0\.1:1`"):
        log.publisher("app")


def test_settings_that_kafka_does_not_know_are_refused(broker: Broker) -> None:
    log = open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers, kafka={"no.such": "thing"}))
    with pytest.raises(ConfigError, match=r"no\.such"):
        log.topics()


def test_kafkas_own_tool_shows_the_positions(log: TopicLog, broker: Broker, name: str) -> None:
    fill(log, f"{name}-in", [30, 50])
    positions = {TopicPartition(f"{name}-in", 0): 30, TopicPartition(f"{name}-in", 1): 20}
    publisher = log.publisher(name)
    publisher.publish(Publication([], [], positions, lambda ends: b"x"))
    publisher.close()
    lines = broker.consumer_groups("--describe", "--group", name).splitlines()
    shown = {tuple(line.split()[1:6]) for line in lines if line.startswith(name)}
    assert shown == {(f"{name}-in", "0", "30", "30", "0"), (f"{name}-in", "1", "20", "50", "30")}
