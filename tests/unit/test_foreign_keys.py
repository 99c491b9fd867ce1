"""Foreign-key joins as users meet them: bytes, messages, partitions; and what Kafka Streams writes on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import StreamsBuilder, StreamsConfig, log_and_continue
from headrace.errors import CallbackError, InvalidArgumentError
from headrace.log.base import Chunk
from headrace.murmur3 import hash128
from headrace.record import TaskId
from headrace.serdes import Serdes
from headrace.serdes.foreign_key import (
    SUBSCRIBE,
    SUBSCRIBE_AND_ANSWER,
    UNSUBSCRIBE,
    UNSUBSCRIBE_AND_ANSWER,
    Answer,
    AnswerSerde,
    Subscription,
    SubscriptionSerde,
)
from headrace.state import MemoryBackend
from headrace.task import Moment, Output, StreamTask, open_stores
from headrace.testing import TopologyTestDriver
from headrace.topology.topology import Topology

RECORDED = (Path(__file__).parent / "data" / "foreign_keys.txt").read_text().splitlines()
CONFIG = StreamsConfig(application_id="app", default_value=str)


def foreign_key(key: str, value: str) -> str | None:
    return None if value[0] == "-" else value.split("|")[0]


def plus(left: Any, right: Any) -> str:
    return f"{left}+{'null' if right is None else right}"


def topology(kind: str = "inner", **options: Any) -> Topology:
    builder = StreamsBuilder()
    left, right = builder.table("left"), builder.table("right")
    join = left.left_join if kind == "left" else left.join
    join(right, on=foreign_key, join=plus, value=str, **options).to_stream().to("out")  # type: ignore[operator]
    return builder.build()


def recorded_steps(kind: str) -> Iterator[tuple[list[str], dict[str, list[tuple[str, str, int]]]]]:
    step: list[str] | None = None
    found: dict[str, list[tuple[str, str, int]]] = {}
    for line in [*(line for line in RECORDED if not line.startswith("hash")), "end of file"]:
        if line.startswith("  "):
            topic, key, value, time = line.split()
            found.setdefault(topic, []).append((key, value, int(time)))
            continue
        if step is not None and step[0] == kind:
            yield step, found
        step, found = line.split(" ", 4), {}


@pytest.mark.parametrize("kind", ["inner", "left"])
def test_every_topic_has_the_bytes_of_kafka_streams(kind: str) -> None:
    """Registrations, responses, the subscription store's changelog, and those of the tables."""

    def text(data: bytes | None) -> str:
        return "null" if data is None else data.hex()

    steps = list(recorded_steps(kind))
    assert len(steps) == 19
    with TopologyTestDriver(topology(kind, store="j"), CONFIG) as driver:
        for (_, topic, key, time, value), expected in steps:
            driver.input(topic).pipe(key, None if value == "null" else value, timestamp=int(time))
            found: dict[str, list[tuple[str, str, int]]] = {}
            for name in driver.produced_topic_names():
                written = driver.produced(name)
                while written:
                    raw_key, raw_value, timestamp, _ = written.popleft()
                    found.setdefault(name, []).append((text(raw_key), text(raw_value), timestamp))
            assert found == expected, (topic, key, value)


def test_hashes_are_those_of_kafka_streams() -> None:
    lines = [line.split(" ") for line in RECORDED if line.startswith("hash")]
    assert len(lines) == 70
    for _, data, expected in lines:
        assert hash128(bytes.fromhex(data)).hex() == expected
    assert hash128(bytes(2000)) != hash128(bytes(2001))


def test_a_subscription_of_an_old_version_has_no_partition() -> None:
    serde = SubscriptionSerde(Serdes.string())
    old = Subscription(b"0123456789abcdef", SUBSCRIBE, "key", None)
    assert serde.serialize(old)[:2] == b"\0\3"
    assert serde.deserialize(serde.serialize(old)) == old
    with pytest.raises(ValueError, match="at most version 1, got 2"):
        serde.deserialize(b"\x02\0")
    with pytest.raises(ValueError, match="at most version 0, got 1"):
        AnswerSerde(Serdes.string()).deserialize(b"\x01")


def test_serdes_are_equal_when_what_they_hold_is() -> None:
    assert SubscriptionSerde(Serdes.string()) == SubscriptionSerde(Serdes.string())
    assert AnswerSerde(Serdes.string()) != AnswerSerde(Serdes.long())
    assert len({AnswerSerde(None), AnswerSerde(None), SubscriptionSerde(None)}) == 2


def test_partitioners_see_the_key_alone_and_choose() -> None:
    seen: list[tuple[str, Any, Any]] = []

    def choose(topic: str, key: Any, value: Any, partitions: int) -> int:
        seen.append((topic, key, value))
        return partitions - 1

    options = {"name": "fk", "partitioner": choose, "other_partitioner": choose}
    with TopologyTestDriver(topology(**options), CONFIG) as driver:
        driver.input("left").pipe("A", "p1|x")
        driver.input("right").pipe("p1", "R")
        assert driver.output("out").read_values() == ["p1|x+R"]
    assert seen == [
        ("fk-subscription-registration-topic", "p1", None),
        ("fk-subscription-response-topic", "A", None),
    ]


def test_a_row_is_in_one_partition() -> None:
    options = {"partitioner": lambda topic, key, value, count: {0, 1}}
    with TopologyTestDriver(topology(**options), CONFIG) as driver:
        driver.input("right").pipe("p1", "R")
        with pytest.raises(CallbackError, match="a row is in one partition, so return a number"):
            driver.input("left").pipe("A", "p1|x")


def test_a_callback_that_raises_is_told_with_its_node() -> None:
    builder = StreamsBuilder()
    left, right = builder.table("left"), builder.table("right")
    left.join(right, on=lambda key, value: value[5], join=plus, name="fk").to_stream().to("out", value=str)
    driver = TopologyTestDriver(builder.build(), CONFIG)
    with driver, pytest.raises(CallbackError, match="IndexError") as caught:
        driver.input("left").pipe("A", "p1|x")
    assert caught.value.node == "fk-subscription-registration-processor"


def test_a_record_whose_callback_raises_can_be_skipped() -> None:
    builder = StreamsBuilder()
    left, right = builder.table("left"), builder.table("right")

    def join(row: str, other: str) -> str:
        if other == "bad":
            raise ValueError(other)
        return plus(row, other)

    left.join(right, on=foreign_key, join=join).to_stream().to("out", value=str)
    config = StreamsConfig(application_id="app", default_value=str, processing_handler=log_and_continue)
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input("left").pipe("A", "p1|x")
        for value in ("good", "bad", "better"):
            driver.input("right").pipe("p1", value)
        assert driver.output("out").read_values() == ["p1|x+good", "p1|x+better"]


def test_a_joiner_may_take_the_key() -> None:
    builder = StreamsBuilder()
    left, right = builder.table("left"), builder.table("right", value=int)
    left.left_join(
        right, on=foreign_key, join=lambda key, row, other: f"{key}:{row}:{other}", with_key=True, value=str
    ).to_stream().to("out")
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        driver.input("left").pipe("A", "p1|x")
        driver.input("right").pipe("p1", 7)
        assert driver.output("out").read_values() == ["A:p1|x:None", "A:p1|x:7"]


def test_a_name_is_kept_for_a_result_that_can_be_asked_for() -> None:
    builder = StreamsBuilder()
    left, right = builder.table("left"), builder.table("right")
    assert left.join(right, on=foreign_key, join=plus, store="j").queryable_store_name == "j"
    assert left.join(right, on=foreign_key, join=plus).queryable_store_name is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": "user"}, r"`on` takes a function of \(key, value\) that returns a key of the other table"),
        ({"on": foreign_key, "partitioner": 3}, "`partitioner` takes a function"),
        ({"on": foreign_key, "other_partitioner": 3}, "`other_partitioner` takes a function"),
        ({"partitioner": foreign_key}, "leave the partitioners out"),
        ({"on": foreign_key, "name": "no spaces"}, "becomes part of topic names"),
    ],
)
def test_mistakes_are_told_where_they_are_made(options: dict[str, Any], message: str) -> None:
    builder = StreamsBuilder()
    left, right = builder.table("left"), builder.table("right")
    for method in (left.join, left.left_join):
        with pytest.raises(InvalidArgumentError, match=message) as caught:
            method(right, join=plus, **options)  # type: ignore[operator]
        assert caught.value.origin is not None
        assert caught.value.origin.file == __file__


class LeftTask:
    """The left table's task of an inner join, fed with batches."""

    def __init__(self) -> None:
        sub, moment, self.output = topology().sub_topologies()[0], Moment(), Output(lambda topic: 1)
        stores = open_stores(
            sub.stores, CONFIG, moment, backend=lambda spec: MemoryBackend(), changelog=lambda spec: None
        )
        self.task = StreamTask(
            sub,
            TaskId(0, 0),
            application_id="app",
            stores=stores,
            output=self.output,
            config=CONFIG,
            clock=lambda: 0,
            old_values=topology().old_values,
            moment=moment,
        )

    def batch(self, *values: str | None, answers: tuple[Answer, ...] = ()) -> list[tuple[str | None, int]]:
        """Changes of one row; the foreign key and instruction of each subscription that they make."""
        response = "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic"
        write = AnswerSerde(Serdes.string()).serialize
        chunks = [
            Chunk(
                "left",
                0,
                range(len(values)),
                [0] * len(values),
                [b"A"] * len(values),
                [None if value is None else value.encode() for value in values],
            ),
            Chunk(
                response,
                0,
                range(len(answers)),
                [99] * len(answers),
                [b"A"] * len(answers),
                [write(answer) for answer in answers],
            ),
        ]
        self.task.process(chunks)
        read = SubscriptionSerde(Serdes.string()).deserialize
        self.taken = {taken.topic: taken for taken in self.output.take()}
        asked = self.taken.get("KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic")
        if asked is None:
            return []
        return [
            (None if key is None else key.decode(), read(value or b"").instruction)
            for key, value in zip(asked.keys, asked.values, strict=True)
        ]


def test_a_row_that_changes_more_than_once_in_a_batch_gets_an_answer_for_its_last_state() -> None:
    """Kafka Streams would ask for none where the change before had no foreign key, and leave the old result for ever
    if that change's answer comes too late to count.
    """
    task = LeftTask()
    assert task.batch("p1|a") == [("p1", SUBSCRIBE)]
    assert task.batch("p1|b") == [("p1", SUBSCRIBE)]
    assert task.batch(None, "p2|c") == [("p1", UNSUBSCRIBE_AND_ANSWER), ("p2", SUBSCRIBE_AND_ANSWER)]
    assert task.batch("-|d", "-|e") == [("p2", UNSUBSCRIBE_AND_ANSWER), ("p2", UNSUBSCRIBE_AND_ANSWER)]
    assert task.batch("-|f", None, "-|g") == []
    assert task.batch("p1|h", "p2|i") == [
        ("p1", SUBSCRIBE),
        ("p1", UNSUBSCRIBE),
        ("p2", SUBSCRIBE_AND_ANSWER),
    ]
    assert task.batch(None, "p2|j") == [("p2", UNSUBSCRIBE_AND_ANSWER), ("p2", SUBSCRIBE)]


def test_answers_come_before_what_changes_in_the_same_batch() -> None:
    """They are about the rows as they were at the end of the last one."""
    task = LeftTask()
    task.batch("p1|a")
    answer = Answer(hash128(b"p1|a"), "R", None)
    assert task.batch("p1|b", answers=(answer,)) == [("p1", SUBSCRIBE)]
    assert task.taken["out"].values == [b"p1|a+R"]
    task.batch(answers=(answer,))
    assert "out" not in task.taken
    assert task.task.dropped[
        "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-0000000017",
        "the row has changed since it asked",
    ]
