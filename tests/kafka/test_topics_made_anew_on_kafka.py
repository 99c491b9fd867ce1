"""Topics that somebody else has deleted and made anew under their names: for those who write, and those who read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from log_contract import committed, rows, some

from headrace import Producer, StreamsBuilder
from headrace.errors import LogError, StartError
from headrace.log import LogConfig, Outgoing, Publication, TopicLog, TopicPartition, open_log
from headrace.log.kafka.appending import FRESH
from headrace.partitioning import partition_for
from tests.kafka.broker import Broker
from tests.spark.harness.records import Rec, append
from tests.spark.harness.sparkless import Sparkless


@pytest.fixture
def other(broker: Broker) -> Iterator[TopicLog]:
    """Another process, as far as the clients of this one know: what it does they do not hear of."""
    log = open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers, kafka={"client.id": "other"}))
    yield log
    log.close()


def make_anew(log: TopicLog, topic: str, partitions: int) -> None:
    log.delete_topic(topic)
    log.create_topic(topic, partitions)


def placed(log: TopicLog, topic: str) -> dict[int, list[bytes]]:
    return {p: [row[2] or b"" for row in rows(log, topic, p)] for p in range(log.topics()[topic])}


def every(log: TopicLog, topic: str) -> list[bytes]:
    return sorted(value for part in placed(log, topic).values() for value in part)


def by_key(count: int, first: int, partitions: int) -> dict[int, list[bytes]]:
    """Where `some` records belong."""
    found: dict[int, list[bytes]] = {partition: [] for partition in range(partitions)}
    for number in range(first, first + count):
        found[partition_for(b"k%d" % number, partitions)].append(b"v%d" % number)
    return found


def test_an_append_places_its_records_anew(log: TopicLog, other: TopicLog, name: str) -> None:
    log.create_topic(name, 5)
    log.append([some(name, 50)])
    make_anew(other, name, 2)
    log.append([some(name, 50, first=50)])
    # Those that had a place are where they were sent; nothing is lost or doubled.
    before = placed(other, name)
    assert every(other, name) == [b"v%d" % number for number in range(50, 100)]
    log.append([some(name, 50, first=100)])
    after = {partition: part[len(before[partition]) :] for partition, part in placed(other, name).items()}
    assert after == by_key(50, 100, 2)


def test_an_append_over_several_topics_does_so_as_a_whole(log: TopicLog, other: TopicLog, name: str) -> None:
    topics = [f"{name}-a", f"{name}-b"]
    for topic in topics:
        log.create_topic(topic, 5)
    log.append([some(topic, 20) for topic in topics])
    make_anew(other, topics[1], 2)
    log.append([some(topic, 20, first=20) for topic in topics])
    assert placed(other, topics[1]) == by_key(20, 20, 2)
    assert every(other, topics[0]) == sorted(b"v%d" % n for n in range(40))


def test_a_partition_that_was_chosen_and_is_no_more_is_named(
    log: TopicLog, other: TopicLog, name: str
) -> None:
    log.create_topic(name, 5)
    log.append([some(name, 50)])
    make_anew(other, name, 2)
    with pytest.raises(LogError, match=f"topic `{name}` has partitions 0 to 1, got partition 4"):
        log.append([Outgoing(name, [b"k"], [b"v"], [0], partitions=4)])
    with pytest.raises(LogError, match=f"topic `{name}` has partitions 0 to 1, got partition 4"):
        log.append([Outgoing(name, [b"k"], [b"v"], [0], partitions=4)], atomic=True)
    other.delete_topic(name)
    time.sleep(FRESH)
    with pytest.raises(LogError, match=f"topic `{name}` does not exist"):
        log.append([some(name, 5)])


def test_a_producer_goes_on(broker: Broker, other: TopicLog, name: str) -> None:
    other.create_topic(name, 5)
    with Producer[str, str](bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send(name, "k", "before", partition=4)
        producer.flush()
        make_anew(other, name, 2)
        for number in range(20):
            producer.send(name, f"k{number}", f"v{number}")
        producer.send(name, "k", "chosen", partition=1)
        producer.flush()
        assert placed(other, name)[1][-1] == b"chosen"
        with pytest.raises(LogError, match=f"topic `{name}` has partitions 0 to 1, got partition 4"):
            producer.send(name, "k", "chosen", partition=4)
    assert every(other, name) == sorted([b"chosen", *(b"v%d" % number for number in range(20))])


def test_what_an_application_publishes_is_placed_anew(log: TopicLog, other: TopicLog, name: str) -> None:
    log.create_topic(name, 5)
    publisher = log.publisher(name)
    try:
        publisher.publish(Publication([some(name, 20)], [], {}, lambda ends: b"1"))
        make_anew(other, name, 2)
        # Else the client may wait for a partition that it takes for one to come, until the transaction times out.
        publisher._producer.list_topics(name, timeout=10)  # type: ignore[attr-defined]
        publisher.publish(Publication([some(name, 20, first=20)], [], {}, lambda ends: b"2"))
        committed(other, name, 20)
        assert placed(other, name) == by_key(20, 20, 2)
    finally:
        publisher.close()


def test_an_application_notices_that_its_source_is_another_one(
    broker: Broker, log: TopicLog, other: TopicLog, name: str, tmp_path: Path
) -> None:
    builder = StreamsBuilder()
    builder.stream(f"{name}-in", value=str).group_by_key().count(store="counts")
    servers = broker.bootstrap_servers
    app = Sparkless(builder.build(), tmp_path, application_id=name, partitions=2, bootstrap_servers=servers)
    records = [Rec(b"k%d" % (n % 5), b"v", 1 + n) for n in range(50)]
    try:
        app.run([{f"{name}-in": records[:20]}])
        app.run([])  # nothing has happened to it
        before = log.topic_ids([f"{name}-in", f"{name}-out"])
        assert set(before) == {f"{name}-in"}
        make_anew(other, f"{name}-in", 2)
        append(other, {f"{name}-in": records})
        after = log.topic_ids([f"{name}-in"])
        assert before != after
        with pytest.raises(
            StartError, match=f"topic `{name}-in` was deleted and made anew since it was read"
        ):
            app.start()
        app.start(accept_changes=True)
        app.catch_up()
        assert dict(app.store("counts").all()) == {f"k{n}": 10 for n in range(5)}
        app.stop()
        assert sum(log.latest([TopicPartition(f"{name}-in", p) for p in (0, 1)]).values()) == 50
        app.run([])
    finally:
        app.close()
