"""The comparison itself: what is lost, doubled, changed or out of turn is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from headrace.config import StreamsConfig
from headrace.log.embedded import EmbeddedLog
from headrace.spark.layout import lay_out
from tests.chaos.kinds import KINDS, PARTITIONS, Kind, part
from tests.chaos.subject import Subject
from tests.chaos.verify import check_output
from tests.parity.inputs import Batch
from tests.parity.tasks import Tasks
from tests.spark.harness import Rec, partition

Topics = dict[str, dict[int, list[Rec]]]


@pytest.fixture(params=KINDS)
def right(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Subject, Topics]]:
    """An application that was fed, and its topics as they should be."""
    kind: Kind = KINDS[request.param]
    config = StreamsConfig(application_id="app", commit_interval=timedelta(milliseconds=1))
    layout = lay_out(kind.topology, "app", kind.topics)
    tasks = Tasks(kind.topology, config, layout, kind.topics)
    batch = Batch(1000)
    records, _ = part(kind, Random(1), 1000, size=400)
    for topic, found in records.items():
        for record in found:
            batch.add(topic, record, partition(record.key, PARTITIONS))
    tasks.run(batch)
    topics: Topics = {
        topic: {n: [r for place, r in tasks.output[topic] if place == n] for n in range(PARTITIONS)}
        for topic in kind.outputs
    }
    with EmbeddedLog(tmp_path) as log:
        yield Subject(kind, log, config, layout, tasks, None, None, tmp_path, Random(1), 0, 0), topics  # type: ignore[arg-type]
    tasks.close()


def lost(records: list[Rec]) -> list[Rec]:
    return records[:-1]


def doubled(records: list[Rec]) -> list[Rec]:
    return [*records, records[-1]]


def out_of_turn(records: list[Rec]) -> list[Rec]:
    return [*records[1:], records[0]]


def changed(records: list[Rec]) -> list[Rec]:
    return [*records[:-1], records[-1]._replace(value=b"another")]


def test_what_is_right_is_right(right: tuple[Subject, Topics]) -> None:
    subject, topics = right
    assert check_output(subject, topics.__getitem__, "here") > 100


@pytest.mark.parametrize("damage", [lost, doubled, out_of_turn, changed])
def test_what_is_wrong_is_found(
    right: tuple[Subject, Topics], damage: Callable[[list[Rec]], list[Rec]]
) -> None:
    subject, topics = right
    for topic in subject.kind.outputs:
        if topic in subject.kind.last_only and damage in (doubled, out_of_turn, lost):
            continue  # only the end is compared
        number = max(topics[topic], key=lambda each: len(topics[topic][each]))
        damaged = {**topics, topic: {**topics[topic], number: damage(topics[topic][number])}}
        with pytest.raises(AssertionError, match=f"topic `{topic}`"):
            check_output(subject, damaged.__getitem__, "here")
