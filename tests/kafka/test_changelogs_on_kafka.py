"""What an application leaves in Kafka beside its output is what Kafka Streams leaves there; Kafka's tools see it."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

import pytest

from examples.word_count import words
from headrace import SessionWindows, StreamsBuilder, TimeWindows, Topology
from headrace.log import TopicLog, TopicPartition
from headrace.log.commits import COMMIT_KEY, commits_topic
from headrace.spark.commit import CommitRecord, decode
from tests.kafka import java_streams
from tests.kafka.applications import applications
from tests.kafka.broker import Broker
from tests.kafka.reading import read_committed
from tests.spark.harness import Part, Rec, by_key, encoded, flat, partition, reference

# All lines in one partition, so that there is one order of words; windows and sessions see some of them late.
LINES = (
    (1_000, "All streams lead to Kafka"),
    (1_500, "Kafka"),
    (4_000, "Hello, Kafka streams!"),
    (2_500, "streams lead to streams"),
    (9_000, "Join Kafka summit … to join"),
    (1_200, "too late for most, all but the first count: Kafka"),
    (6_500, "join summit kafka"),
)
# Of today, because the broker deletes what is older than a changelog of windows keeps.
TODAY = time.time_ns() // 1_000_000_000 * 1000
INPUT: Part = {"text-input": [encoded("text", line, TODAY + at) for at, line in LINES]}


def word_counts() -> Topology:
    """Word count with three kinds of stores, one of them without a name of the user's."""
    builder = StreamsBuilder()
    grouped = (
        builder.stream("text-input", value=str)
        .flat_map_values(words, value=str)
        .select_key(lambda _, word: word)
        .group_by_key()
    )
    grouped.count(store="word-count-store").to_stream().to("wordcount-output", value=int)
    grouped.windowed_by(TimeWindows(timedelta(seconds=2), grace=timedelta(seconds=3))).count()
    grouped.windowed_by(SessionWindows(timedelta(seconds=2), grace=timedelta(seconds=3))).count(
        store="sessions"
    )
    return builder.build()


class Ran(NamedTuple):
    """The ids of our application and of that of Kafka Streams, both after they have read the input."""

    ours: str
    theirs: str


@pytest.fixture(scope="module")
def ran(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    folder = tmp_path_factory.mktemp("changelogs")
    name = f"t{uuid.uuid4().hex[:10]}"
    with applications(broker, folder, name) as application:
        app = application(word_counts())
        lines = INPUT["text-input"]
        app.run([{"text-input": lines[:3]}, {"text-input": lines[3:]}])
        written = len(flat(app.read("wordcount-output")))
        settings = {
            "application.id": f"{name}-java",
            "bootstrap.servers": broker.bootstrap_servers,
            "state.dir": str(folder / "java"),
        }
        with (
            java_streams.jvm() as gateway,
            java_streams.running(gateway, java_streams.word_counts(gateway), settings),
        ):
            deadline = time.monotonic() + 60
            while len(flat(app.read("wordcount-output"))) < 2 * written:
                assert time.monotonic() < deadline, "Kafka Streams has not written all"
                time.sleep(0.1)
        yield Ran(name, f"{name}-java")


def changelogs(log: TopicLog, application_id: str) -> set[str]:
    """The changelogs of an application, without the application's name in front; not what our tasks remember."""
    names = (
        topic.removeprefix(f"{application_id}-")
        for topic in log.topics()
        if topic.startswith(f"{application_id}-") and topic.endswith("-changelog")
    )
    return {name for name in names if not re.fullmatch(r"java-.*|task-\d+-changelog", name)}


def settings_of(log: TopicLog, topic: str) -> dict[str, str]:
    own = log.describe(topic).config
    return {name: own[name] for name in ("cleanup.policy", "retention.ms") if name in own}


def newest(records: list[Rec]) -> dict[bytes | None, Rec]:
    """What compaction would leave."""
    return {record.key: record for record in records}


def is_part_of(some: list[Rec], every: list[Rec]) -> bool:
    """Whether all of `some` are in `every`, in the same order."""
    rest = iter(every)
    return all(record in rest for record in some)


def test_changelogs_are_those_of_kafka_streams(ran: Ran, log: TopicLog, broker: Broker) -> None:
    name, theirs = ran
    names = changelogs(log, theirs)
    assert len(names) == 3
    assert changelogs(log, name) == names
    for changelog in names:
        mine, other = f"{name}-{changelog}", f"{theirs}-{changelog}"
        assert settings_of(log, mine) == settings_of(log, other), changelog
        found = read_committed(broker.bootstrap_servers, mine)
        expected = read_committed(broker.bootstrap_servers, other)
        assert flat(found)
        assert found.keys() == expected.keys()
        for number, records in found.items():
            assert newest(records) == newest(expected[number]), f"{changelog}, partition {number}"
            # One change per key and commit: Kafka Streams with a cache writes as few.
            theirs_by_key = by_key(expected[number])
            for key, changes in by_key(records).items():
                assert is_part_of(changes, theirs_by_key[key]), f"{changelog}, key {key!r}"


def test_output_of_both_is_the_same(ran: Ran, broker: Broker) -> None:
    written = read_committed(broker.bootstrap_servers, "wordcount-output")
    expected = by_key(reference(word_counts(), [INPUT]).outputs["wordcount-output"])
    for number, records in written.items():
        for key, found in by_key(records).items():
            assert key is not None
            assert partition(key, len(written)) == number
            assert found == expected[key] * 2
    assert by_key(flat(written)).keys() == expected.keys()


def test_the_groups_tool_shows_positions_and_the_commits_topic_holds_the_commit(
    ran: Ran, broker: Broker, log: TopicLog
) -> None:
    name = ran.ours
    shown = broker.consumer_groups("--describe", "--group", name)
    rows = [line.split() for line in shown.splitlines() if line.startswith(name)]
    lags = {(row[1], int(row[2])): (int(row[3]), int(row[4]), int(row[5])) for row in rows}
    ends = log.latest([TopicPartition("text-input", number) for number in range(4)])
    assert lags == {tuple(place): (end, end, 0) for place, end in ends.items()}

    records = flat(read_committed(broker.bootstrap_servers, commits_topic(name)))
    commits = [decode(r.value or b"", CommitRecord) for r in records if r.key == COMMIT_KEY]
    assert [commit.number for commit in commits] == list(range(1, len(commits) + 1))
    assert commits[-1].positions == {"text-input": [ends[TopicPartition("text-input", n)] for n in range(4)]}
    for changelog in changelogs(log, name):
        places = [TopicPartition(f"{name}-{changelog}", number) for number in range(4)]
        # What follows the last record is at most the mark of the transaction's end.
        written = [log.latest([place])[place] for place in places]
        known = commits[-1].ends[f"{name}-{changelog}"]
        assert all(0 <= end - last <= 1 for end, last in zip(written, known, strict=True))
    assert log.describe(commits_topic(name)).config["cleanup.policy"] == "compact"
