"""Inputs and expected outputs of the examples: the same in the test driver, on Spark and on Kafka.

Records are in the order of their timestamps, so that it does not matter how they are spread over partitions;
what a topology writes is compared per key, because the order between keys of different tasks means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from examples import fraud_detector, word_count
from examples.fraud_detector import Alert, Transaction
from headrace.record import Windowed
from headrace.serdes import serde_for
from headrace.topology.topology import Topology

MINUTE = 60_000


class Input(NamedTuple):
    topic: str
    key: str
    value: Any
    timestamp: int


class Encoded(NamedTuple):
    """A record as it is in a topic."""

    key: bytes
    value: bytes
    timestamp: int


class Written(NamedTuple):
    value: Any
    timestamp: int


@dataclass(frozen=True, slots=True)
class Example:
    """An example with all that a test of it needs. Keys are strings."""

    name: str
    file: str
    topology: Topology
    inputs: tuple[Input, ...]
    types: dict[str, type]
    """The value type of each topic."""
    output: str
    expected: dict[str, list[Written]]
    """What the output topic holds for each key, in order."""
    store: str
    content: dict[str | Windowed[str], Any]
    """What the store holds in the end."""

    def encoded(self) -> dict[str, list[Encoded]]:
        """The input topics' records as bytes."""
        topics: dict[str, list[Encoded]] = {}
        for topic, key, value, timestamp in self.inputs:
            data = serde_for(self.types[topic]).serialize(value)
            topics.setdefault(topic, []).append(Encoded(key.encode(), data, timestamp))
        return topics

    def decoded(self, records: Iterable[tuple[bytes, bytes, int]]) -> dict[str, list[Written]]:
        """(key, value, timestamp) of the output topic's records, as `expected` has them."""
        read = serde_for(self.types[self.output]).deserialize
        return per_key((key.decode(), read(value), timestamp) for key, value, timestamp in records)


def per_key(records: Iterable[tuple[str, Any, int]]) -> dict[str, list[Written]]:
    found: dict[str, list[Written]] = {}
    for key, value, timestamp in records:
        found.setdefault(key, []).append(Written(value, timestamp))
    return found


def _lines(*lines: str) -> tuple[Input, ...]:
    # From 1 on: librdkafka takes the timestamp 0 for "now".
    return tuple(Input("text-input", f"line-{i}", line, i * 1000) for i, line in enumerate(lines, 1))


WORD_COUNT = Example(
    name="word_count",
    file=word_count.__file__,
    topology=word_count.topology,
    inputs=_lines(
        "All streams lead to Kafka",
        "",
        "Hello, Kafka streams!",
        "Join Kafka summit … to join",
    ),
    types={"text-input": str, "wordcount-output": int},
    output="wordcount-output",
    expected={
        "all": [Written(1, 1000)],
        "streams": [Written(1, 1000), Written(2, 3000)],
        "lead": [Written(1, 1000)],
        "to": [Written(1, 1000), Written(2, 4000)],
        "kafka": [Written(1, 1000), Written(2, 3000), Written(3, 4000)],
        "hello": [Written(1, 3000)],
        "join": [Written(1, 4000), Written(2, 4000)],
        "summit": [Written(1, 4000)],
    },
    store="word-count-store",
    content={"all": 1, "streams": 2, "lead": 1, "to": 2, "kafka": 3, "hello": 1, "join": 2, "summit": 1},
)


def _transactions(*transactions: tuple[int, str, float]) -> tuple[Input, ...]:
    return tuple(
        Input("transactions", f"tx-{i}", Transaction(user, amount), at)
        for i, (at, user, amount) in enumerate(transactions)
    )


FRAUD_DETECTOR = Example(
    name="fraud_detector",
    file=fraud_detector.__file__,
    topology=fraud_detector.topology,
    inputs=(
        Input("risk-scores", "alice", 90, 1),
        Input("risk-scores", "bob", 10, 1),
        Input("risk-scores", "carol", 50, 1),
        Input("risk-scores", "carol", 71, 2),
        *_transactions(
            (10, "alice", 1500.0),
            (20, "bob", 9000.0),  # large, but not risky
            (30, "mallory", 9000.0),  # no score at all
            (40, "carol", 1000.5),
            (50, "alice", 2000.0),
            (60, "alice", 20.0),  # small
            (70, "carol", 1000.0),  # not above the limit
            (80, "alice", 1800.0),  # the third: an alert
            (90, "carol", 5000.0),
            (2 * MINUTE, "alice", 1001.0),  # the fourth: another
            (2 * MINUTE + 1, "bob", 9000.0),
            (4 * MINUTE, "carol", 5000.0),  # carol's third
            (7 * MINUTE, "alice", 3000.0),  # exactly the gap after the last one: still the same session
            (12 * MINUTE + 1, "alice", 3000.0),  # a new session
            (13 * MINUTE, "alice", 3000.0),
            (14 * MINUTE, "alice", 3000.0),  # its third
        ),
    ),
    types={"risk-scores": int, "transactions": Transaction, "fraud-alerts": Alert},
    output="fraud-alerts",
    expected={
        "alice": [
            Written(Alert("alice", 3, 10), 80),
            Written(Alert("alice", 4, 10), 2 * MINUTE),
            Written(Alert("alice", 5, 10), 7 * MINUTE),
            Written(Alert("alice", 3, 12 * MINUTE + 1), 14 * MINUTE),
        ],
        "carol": [Written(Alert("carol", 3, 40), 4 * MINUTE)],
    },
    store="session-count-store",
    content={Windowed("alice", 12 * MINUTE + 1, 14 * MINUTE): 3},
)

EXAMPLES = (WORD_COUNT, FRAUD_DETECTOR)
