"""What producers and consumers do on every log; the tests of the embedded log and of Kafka both inherit it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headrace import Admin, Consumer, Producer
from headrace.errors import (
    ConfigError,
    DeserializationError,
    InvalidArgumentError,
    LogError,
    OffsetOutOfRangeError,
    SerializationError,
)
from headrace.log import TopicPartition
from headrace.partitioning import partition_for

SOON = timedelta(seconds=20)
Where = dict[str, Any]


@dataclass
class Order:
    user: str
    amount: float


@pytest.fixture
def admin(where: Where) -> Iterator[Admin]:
    with Admin(**where) as admin:
        yield admin


def sent(where: Where, topic: str, *numbers: int, **more: Any) -> None:
    with Producer[str, int](**where) as producer:
        for number in numbers:
            producer.send(topic, f"k{number}", number, timestamp=number + 1, **more)


def numbers(where: Where, topic: str, **more: Any) -> list[int]:
    """What a new consumer finds."""
    with Consumer[str, int](topic, value=int, from_beginning=True, **where, **more) as consumer:
        return [record.value for record in consumer.read_to_end()]


def arriving(where: Where, topic: str, count: int) -> list[int]:
    """The same, once there are so many: Kafka says yes to a transaction a moment before readers see it."""
    found: list[int] = []
    with Consumer[str, int](topic, value=int, from_beginning=True, **where) as consumer:
        while len(found) < count and (records := consumer.poll(SOON)):
            found += [record.value for record in records]
        return found + [record.value for record in consumer.read_to_end()]


def send_and_fail(producer: Producer[str, int], topic: str) -> None:
    with producer.transaction():
        producer.send(topic, "never", 2, partition=0)
        raise ZeroDivisionError


def fail_at(consumer: Consumer[str, int], value: int) -> None:
    with consumer:
        for record in consumer:
            if record.value == value:
                raise ZeroDivisionError


class ClientsContract:
    """Needs the fixtures `where` (how to reach the log) and `name` (a prefix that no other test uses)."""

    def test_topics_are_made_described_altered_and_deleted(self, admin: Admin, name: str) -> None:
        admin.create_topic(
            name, partitions=3, cleanup_policy="compact,delete", retention_ms=timedelta(hours=1)
        )
        assert admin.topics()[name] == 3
        admin.alter_topic(name, retention_ms=None, retention_bytes=5000)
        described = admin.describe_topic(name)
        assert described.partitions == 3
        assert dict(described.config) == {"cleanup.policy": "compact,delete", "retention.bytes": "5000"}
        admin.delete_topic(name)
        assert name not in admin.topics()
        with pytest.raises(ConfigError, match="`retention_bytes` is no duration"):
            admin.create_topic(name, retention_bytes=timedelta(1))

    def test_what_is_sent_is_received(self, admin: Admin, where: Where, name: str) -> None:
        admin.create_topic(name, partitions=1)
        moment = datetime(2024, 5, 1, tzinfo=UTC)
        with Producer[str, Order](key=str, value=Order, **where) as producer:
            producer.send(name, "a", Order("alice", 5.5), timestamp=moment, headers={"source": "web"})
            producer.send(name, None, None, timestamp=7, headers=[("h", b"1"), ("h", None)])
        with Consumer[str, Order](name, value=Order, from_beginning=True, **where) as consumer:
            first, second = consumer.read_to_end()
        assert (first.topic, first.partition, first.offset) == (name, 0, 0)
        assert (first.key, first.value) == ("a", Order("alice", 5.5))
        assert first.timestamp == 1_714_521_600_000
        assert first.headers == (("source", b"web"),)
        assert (second.offset, second.key, second.value, second.timestamp) == (1, None, None, 7)
        assert second.headers == (("h", b"1"), ("h", None))

    def test_without_types_every_value_is_written_as_what_it_is(
        self, admin: Admin, where: Where, name: str
    ) -> None:
        values = ["text", 5, 2.5, b"raw", {"a": 1}, Order("bob", 1.0)]
        kinds = [str, int, float, bytes, dict, Order]
        admin.create_topic(name, partitions=len(values))
        with Producer[Any, Any](**where) as producer:
            for partition, value in enumerate(values):
                producer.send(name, 1, value, partition=partition)
        for partition, kind in enumerate(kinds):
            with Consumer[int, Any](key=int, value=kind, from_beginning=True, **where) as consumer:
                consumer.assign([(name, partition)])
                assert [record.value for record in consumer.read_to_end()] == [values[partition]]

    def test_keys_choose_partitions_as_in_kafka_and_no_key_takes_turns(
        self, admin: Admin, where: Where, name: str
    ) -> None:
        admin.create_topic(name, partitions=3)
        with Producer[str | None, int](**where) as producer:
            for number in range(60):
                producer.send(name, f"k{number}", number)
                producer.send(name, None, -1)
            producer.send(name, "k0", 99, partition=2)
        with Consumer[str | None, int](name, value=int, from_beginning=True, **where) as consumer:
            records = list(consumer.read_to_end())
        assert all(
            record.partition == partition_for(str(record.key).encode(), 3)
            for record in records
            if record.key is not None and record.value != 99
        )
        assert [record.partition for record in records if record.value == 99] == [2]
        spread = [record.partition for record in records if record.key is None]
        assert len(spread) == 60
        assert min(spread.count(partition) for partition in range(3)) >= 10

    def test_what_is_sent_arrives_without_a_flush(self, admin: Admin, where: Where, name: str) -> None:
        admin.create_topic(name, partitions=1)
        with (
            Producer[str, int](**where) as producer,
            Consumer[str, int](name, value=int, from_beginning=True, **where) as consumer,
        ):
            producer.send(name, "a", 1)
            assert [record.value for record in consumer.poll(SOON)] == [1]
            producer.send(name, "a", 2)
            producer.flush()
            assert [record.value for record in consumer.read_to_end()] == [2]

    def test_a_transaction_over_topics_is_all_or_nothing(self, admin: Admin, where: Where, name: str) -> None:
        one, other = f"{name}-1", f"{name}-2"
        for topic in (one, other):
            admin.create_topic(topic, partitions=2)
        with Producer[str, int](**where) as producer:
            producer.send(one, "before", 0, partition=0)
            with producer.transaction():
                producer.send(one, "a", 1, partition=0)
                producer.send(other, "a", 1)
                with pytest.raises(LogError, match="inside a `transaction`"):
                    producer.flush()
                with pytest.raises(LogError, match="open already"), producer.transaction():
                    pass
            with pytest.raises(ZeroDivisionError):
                send_and_fail(producer, one)
            with producer.transaction():
                producer.send(other, "c", 3)
            with producer.transaction():
                pass
            producer.send(one, "after", 4, partition=0)
        assert arriving(where, one, 3) == [0, 1, 4]
        assert arriving(where, other, 2) == [1, 3]

    def test_a_group_goes_on_where_it_stopped(self, admin: Admin, where: Where, name: str) -> None:
        admin.create_topic(name, partitions=2)
        sent(where, name, *range(10))
        seen = []
        for count in (3, 4, 100):
            with Consumer[str, int](name, value=int, group=name, from_beginning=True, **where) as consumer:
                seen.append([record.value for record in consumer.poll(SOON, max_records=count)])
        assert [len(part) for part in seen] == [3, 4, 3]
        assert sorted(value for part in seen for value in part) == list(range(10))
        assert numbers(where, name, group=name) == []
        assert numbers(where, name, group=f"{name}-2") == list(range(10)), "another group has read nothing"
        sent(where, name, 10)
        assert numbers(where, name, group=name) == [10]

    def test_what_was_in_hand_when_it_failed_is_read_again(
        self, admin: Admin, where: Where, name: str
    ) -> None:
        admin.create_topic(name, partitions=1)
        sent(where, name, 1, 2, 3)
        consumer = Consumer[str, int](name, value=int, group=name, from_beginning=True, **where)
        with pytest.raises(ZeroDivisionError):
            fail_at(consumer, 2)
        with Consumer[str, int](name, value=int, group=name, **where) as consumer:
            for record in consumer:
                assert record.value == 2
                break
        assert numbers(where, name, group=name) == [3], "whoever leaves the loop is done with the record"

    def test_commits_by_hand(self, admin: Admin, where: Where, name: str) -> None:
        admin.create_topic(name, partitions=1)
        sent(where, name, 1, 2, 3)
        with Consumer[str, int](
            name, value=int, group=name, from_beginning=True, auto_commit=False, **where
        ) as consumer:
            assert consumer.committed(name, 0) is None
            reading = iter(consumer)
            assert next(reading).value == 1
            consumer.commit()
            assert next(reading).value == 2
            assert (consumer.committed(name, 0), consumer.position(name, 0)) == (1, 2)
        assert numbers(where, name, group=name) == [2, 3]

    def test_a_new_consumer_begins_with_what_comes_next(self, admin: Admin, where: Where, name: str) -> None:
        admin.create_topic(name, partitions=1)
        sent(where, name, 1)
        with Consumer[str, int](name, value=int, **where) as consumer:
            assert consumer.poll() == []
            sent(where, name, 2)
            assert [record.value for record in consumer.records(timedelta(seconds=1))] == [2]

    def test_seeking(self, admin: Admin, where: Where, name: str) -> None:
        admin.create_topic(name, partitions=1)
        sent(where, name, *range(5))
        with Consumer[str, int](name, value=int, **where) as consumer:

            def values() -> list[int]:
                return [record.value for record in consumer.read_to_end()]

            assert values() == []
            consumer.seek_to_beginning()
            assert values() == [0, 1, 2, 3, 4]
            consumer.seek(name, 0, 3)
            assert values() == [3, 4]
            consumer.seek_to_time(3)
            assert values() == [2, 3, 4]
            consumer.seek(name, 0, 0)
            consumer.seek_to_end()
            assert (consumer.position(name, 0), values()) == (5, [])
            with pytest.raises(
                OffsetOutOfRangeError, match=rf"`{name}`, partition 0: wanted offset 6.*0 to 5"
            ):
                consumer.seek(name, 0, 6)
            with pytest.raises(LogError, match=rf"`{name}`, partition 1 is not read.*`{name}` 0"):
                consumer.seek(name, 1, 0)

    def test_two_consumers_of_a_group_share_the_partitions(
        self, admin: Admin, where: Where, name: str
    ) -> None:
        admin.create_topic(name, partitions=4)
        settings: Where = {"value": int, "group": name, "from_beginning": True, **where}
        with Consumer[str, int](name, **settings) as first:
            shares(first, [4])
            with Consumer[str, int](name, **settings) as second:
                shares(first, [2], second)
                shares(second, [2], first)
                assert not set(first.assignment()) & set(second.assignment())
                sent(where, name, *range(40))
                seen = []
                while len(seen) < 40:
                    for consumer in (first, second):
                        records = consumer.poll(timedelta(milliseconds=100))
                        assert {record.partition for record in records} <= {
                            place.partition for place in consumer.assignment()
                        }
                        seen += [record.value for record in records]
                assert sorted(seen) == list(range(40))
            shares(first, [4])
            sent(where, name, 40)
            assert [record.value for record in first.poll(SOON)] == [40]

    def test_types_of_several_topics(self, admin: Admin, where: Where, name: str) -> None:
        texts, longs = f"{name}-texts", f"{name}-longs"
        for topic in (texts, longs):
            admin.create_topic(topic, partitions=1)
        with Producer[str, Any](**where) as producer:
            producer.send(texts, "a", "one", timestamp=1)
            producer.send(longs, "a", 2, timestamp=2)
            producer.send(texts, "a", "three", timestamp=3)
        with Consumer[str, Any](from_beginning=True, **where) as consumer:
            consumer.subscribe(texts, value=str)
            consumer.subscribe(longs, value=int)
            found = [record.value for record in consumer.read_to_end()]
        assert found == ["one", 2, "three"], "by time over the topics"

    def test_wrong_types_are_told(self, admin: Admin, where: Where, name: str) -> None:
        admin.create_topic(name, partitions=1)
        with Producer[Any, Any](key=str, value=int, **where) as producer:
            with pytest.raises(
                SerializationError, match=rf"value cannot be sent to `{name}`: Serdes.long\(\).*'x'"
            ):
                producer.send(name, "a", "x")
            with pytest.raises(
                SerializationError, match=rf"key cannot be sent to `{name}`: Serdes.string\(\).*5"
            ):
                producer.send(name, 5, 5)
            producer.send(name, "a", 5)
            producer.send(name, "a", 6)
        with Producer[Any, Any](**where) as producer:
            producer.send(name, "a", "text")
            producer.send(name, "a", 7)
        with Consumer[str, int](name, value=int, from_beginning=True, **where) as consumer:
            assert [record.value for record in consumer.poll(SOON)] == [5, 6], "the good ones before it"
            with pytest.raises(DeserializationError, match=r"the value.*`value=`") as caught:
                consumer.poll(SOON)
            assert caught.value.metadata == (name, 0, 2)
            assert [record.value for record in consumer.poll(SOON)] == [7]

    def test_what_does_not_exist_is_named_with_a_hint(self, admin: Admin, where: Where, name: str) -> None:
        admin.create_topic(f"{name}-orders", partitions=2)
        hint = rf"`{name}-order` does not exist.*did you mean `{name}-orders`"
        with Producer[str, int](**where) as producer, pytest.raises(LogError, match=hint):
            producer.send(f"{name}-order", "a", 1)
        with pytest.raises(LogError, match=hint):
            Consumer[str, bytes](f"{name}-order", **where)
        with (
            Producer[str, int](**where) as producer,
            pytest.raises(LogError, match="partitions 0 to 1, got partition 2"),
        ):
            producer.send(f"{name}-orders", "a", 1, partition=2)
        with Consumer[str, bytes](**where) as consumer:
            with pytest.raises(InvalidArgumentError, match=r"nothing to read.*Consumer\(\"orders\"\)"):
                consumer.poll()
            with pytest.raises(LogError, match="9"):
                consumer.assign([(f"{name}-orders", 9)])

    def test_a_compacted_topic_wants_keys(self, admin: Admin, where: Where, name: str) -> None:
        admin.create_topic(name, cleanup_policy="compact")
        with Producer[Any, int](**where) as producer, pytest.raises(LogError, match=f"`{name}` is compacted"):
            producer.send(name, None, 1)

    def test_whoever_is_closed_says_so(self, admin: Admin, where: Where, name: str) -> None:
        admin.create_topic(name)
        producer, consumer = Producer[str, int](**where), Consumer[str, bytes](name, **where)
        for client in (producer, consumer):
            client.close()
            client.close()
        with pytest.raises(LogError, match="the producer is closed"):
            producer.send(name, "a", 1)
        with pytest.raises(LogError, match="the consumer is closed"):
            consumer.poll()

    def test_positions_that_retention_has_overtaken_are_told(
        self, admin: Admin, where: Where, name: str
    ) -> None:
        admin.create_topic(name, partitions=1)
        settings: Where = {"value": int, "group": name, "from_beginning": True, **where}
        for number in range(6):
            sent(where, name, number)
        with Consumer[str, int](name, **settings) as consumer:
            assert len(consumer.poll(SOON, max_records=2)) == 2
        admin._log.delete_records({TopicPartition(name, 0): 4})
        wrong = rf"`{name}`, partition 0: group `{name}` wants offset 2.*from 4 on.*seek_to_beginning"
        with Consumer[str, int](name, **settings) as consumer:
            with pytest.raises(OffsetOutOfRangeError, match=wrong):
                consumer.poll(SOON)
            consumer.seek_to_beginning()
            assert [record.value for record in consumer.poll(SOON)] == [4, 5]
        assert numbers(where, name, group=name) == []


def shares(consumer: Consumer[Any, Any], sizes: list[int], *others: Consumer[Any, Any]) -> None:
    """Waits until the consumer has so many partitions; the others take part meanwhile."""
    deadline = datetime.now(UTC) + SOON
    while len(consumer.assignment()) not in sizes:
        assert datetime.now(UTC) < deadline, f"{consumer.assignment()} instead of {sizes}"
        for other in others:
            other.poll(timedelta(milliseconds=20))
        consumer.poll(timedelta(milliseconds=20))
