"""Backlogs of very different size that are read in many batches: the same results as in the order of time.

The planner cuts the batches, and each task of each batch is a test driver, fed as a task is. Beside it, one driver gets
everything in the order of time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from headrace import JoinWindows, StreamsBuilder, StreamsConfig, TimeWindows, Topology, field_timestamp
from headrace.log.base import TopicLog, TopicPartition
from headrace.log.embedded import EmbeddedLog
from headrace.partitioning import partition_for
from headrace.spark import planner as planning
from headrace.spark.commit import CommitRecord
from headrace.spark.event_times import EventTimes
from headrace.spark.layout import Layout, lay_out
from headrace.spark.meeting import extracted_times, meeting_partitions
from headrace.spark.planner import Planner
from headrace.testing import TopologyTestDriver
from tests.parity.inputs import Batch
from tests.parity.tasks import Tasks
from tests.spark.harness import Part, Rec, append, encoded

CONFIG = StreamsConfig(application_id="app", max_batch_records=500)
TOPICS = {"busy": 2, "quiet": 2, "pairs": 2, "counts": 2, "last": 2}


def topology(**source: Any) -> Topology:
    """A join whose window is short beside the backlog, and a windowed count in which all partitions meet."""
    builder = StreamsBuilder()
    busy, quiet = (builder.stream(topic, value=dict, **source) for topic in ("busy", "quiet"))
    windows = JoinWindows(timedelta(milliseconds=40), grace=timedelta(milliseconds=20))
    busy.join(quiet, join=lambda a, b: {"n": [a["n"], b["n"]]}, windows=windows, value=dict).to("pairs")
    count = TimeWindows(timedelta(milliseconds=100), grace=timedelta(milliseconds=20))
    grouped = busy.merge(quiet).group_by(lambda key, value: str(value["n"] % 3), key=str)
    grouped.windowed_by(count).count(store="n").to_stream().map(
        lambda window, n: (f"{window.key}@{window.start}", n), key=str, value=int
    ).to("counts")
    return builder.build()


def records(times: Sequence[int], keys: Sequence[str], *, log_time: int | None = None) -> list[Rec]:
    """Numbered; the value says the time as well, and the log another one if that is wanted."""
    return [
        encoded(keys[n % len(keys)], {"n": n, "at": time}, time if log_time is None else log_time + n)
        for n, time in enumerate(times)
    ]


def time_in(value: bytes | None) -> int:
    return int(msgspec.json.decode(value or b"")["at"])


def batches(log: TopicLog, layout: Layout) -> Iterator[Batch]:
    """All that the planner makes of the backlog."""
    planner = Planner(
        log,
        layout.topics,
        {},
        CONFIG.max_batch_records,
        CONFIG.max_batch_bytes,
        meeting=meeting_partitions(layout, CONFIG),
        times=EventTimes(log, extracted_times(layout, CONFIG)),
    )
    base = CommitRecord("i", 0, 0, {topic: [0] * n for topic, n in layout.topics.items()})
    while (plan := planner.plan(base)) is not None:
        spans = {
            TopicPartition(topic, number): (start, plan.ends[topic][number])
            for topic, starts in plan.starts.items()
            for number, start in enumerate(starts)
        }
        batch = Batch(0)
        for chunk in log.read(spans):
            for key, value in zip(chunk.keys, chunk.values, strict=True):
                # A task orders by the time that the extractor says.
                batch.add(chunk.topic, Rec(key, value, time_in(value)), chunk.partition)
        yield batch
        base = msgspec.structs.replace(base, number=plan.number, positions=plan.ends)


def in_batches(topology: Topology, inputs: Part, folder: Path) -> tuple[dict[str, list[Rec]], int]:
    """What all tasks write, and how many batches it took."""
    layout = lay_out(topology, "app", TOPICS)
    with EmbeddedLog(folder / "log") as log:
        for topic in layout.topics:
            log.create_topic(topic, TOPICS[topic])
        append(log, inputs)
        tasks = Tasks(topology, CONFIG, layout, TOPICS)
        count = 0
        try:
            for batch in batches(log, layout):
                tasks.run(batch)
                count += 1
        finally:
            tasks.close()
    return {topic: [record for _, record in found] for topic, found in tasks.output.items()}, count


def in_time(topology: Topology, inputs: Part) -> dict[str, list[Rec]]:
    """What one driver writes."""
    every = [(topic, record) for topic, found in inputs.items() for record in found]
    with TopologyTestDriver(topology, CONFIG) as driver:
        for topic, record in sorted(every, key=lambda each: time_in(each[1].value)):
            driver.pipe_bytes(topic, *record)
        return {topic: [Rec(*record) for record in driver.produced(topic)] for topic in ("pairs", "counts")}


def shuffled(times: Sequence[int], by: int) -> list[int]:
    """Each a little before or after its place."""
    random = Random(5)
    return sorted(times, key=lambda time: time + random.randint(0, by))


KEYS = [f"k{n}" for n in range(8)]
FIRST, SECOND = ([key for key in KEYS if partition_for(key.encode(), 2) == number] for number in (0, 1))
"""Those of each partition."""

BACKLOGS: dict[str, Part] = {
    "a-thousand-times-more": {
        "busy": records(range(20_000), KEYS),
        "quiet": records(range(0, 20_000, 1000), KEYS),
    },
    "partitions-of-different-density": {
        "busy": [*records(range(8000), FIRST), *records(range(0, 8000, 400), SECOND)],
        "quiet": records(range(0, 8000, 50), KEYS),
    },
    "out-of-order": {
        "busy": records(shuffled(range(8000), 10), KEYS),
        "quiet": records(shuffled(range(0, 8000, 40), 10), KEYS),
    },
    "long-gaps": {
        "busy": records([*range(3000), *range(500_000, 503_000)], KEYS),
        "quiet": records([*range(0, 3000, 10), 250_000, *range(500_000, 503_000, 10)], KEYS),
    },
    "one-ends-early": {
        "busy": records(range(8000), KEYS),
        "quiet": records(range(0, 1000, 5), KEYS),
    },
    "equal-times": {
        "busy": records([n // 600 * 10 for n in range(9000)], KEYS),
        "quiet": records([n // 6 * 10 for n in range(90)], KEYS),
    },
}


@pytest.fixture(autouse=True)
def small_first_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "FIRST_BATCH", 50)


@pytest.mark.parametrize("name", BACKLOGS)
def test_nothing_is_late_whatever_the_backlogs(name: str, tmp_path: Path) -> None:
    inputs = BACKLOGS[name]
    found, count = in_batches(topology(), inputs, tmp_path)
    assert count > 5
    check(found, in_time(topology(), inputs))


def test_a_batch_cut_by_number_alone_loses_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this is for: otherwise the quiet topic is read to its end at once, and all that it says comes too early."""
    monkeypatch.setattr(
        planning,
        "aligned_ends",
        lambda times, starts, backlog, shares: {t: starts[t] + shares[t] for t in starts},
    )
    inputs = BACKLOGS["a-thousand-times-more"]
    found, _ = in_batches(topology(), inputs, tmp_path)
    assert len(found["pairs"]) < len(in_time(topology(), inputs)["pairs"])


def test_records_that_say_their_time_themselves(tmp_path: Path) -> None:
    """Both topics were filled one after the other, so the log's times say nothing about the order of events."""
    built = topology(timestamp_extractor=field_timestamp("at"))
    inputs = {
        "busy": records(range(8000), KEYS, log_time=10**6),
        "quiet": records(range(0, 8000, 50), KEYS, log_time=2 * 10**6),
    }
    found, count = in_batches(built, inputs, tmp_path)
    assert count > 5
    check(found, in_time(built, inputs))


def check(found: dict[str, list[Rec]], expected: dict[str, list[Rec]]) -> None:
    assert len(expected["pairs"]) > 10
    assert Counter(found["pairs"]) == Counter(expected["pairs"])
    last = [{record.key: record.value for record in each["counts"]} for each in (found, expected)]
    assert last[0] == last[1]
