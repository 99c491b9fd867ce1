"""A batch that cannot take all ends at one time for all partitions that meet, whatever they look like."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from backlogs import Backlog, Run, values
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import (
    JoinWindows,
    Processor,
    Record,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    wallclock_timestamp,
)
from headrace.log import Outgoing
from headrace.log.base import Chunk, TopicPartition
from headrace.log.embedded import EmbeddedLog
from headrace.spark.event_times import EventTimes
from headrace.spark.layout import lay_out
from headrace.spark.meeting import extracted_times, meeting_partitions

SECOND = timedelta(seconds=1)


def at(topic: str, partition: int = 0) -> TopicPartition:
    return TopicPartition(topic, partition)


def run_all(folder: Path, backlog: Backlog, limit: int, *more: Any, **named: Any) -> Run:
    with EmbeddedLog(folder / "log") as log:
        return Run(log, backlog, limit, *more, **named)


times = st.one_of(
    st.lists(st.integers(0, 60), max_size=40).map(sorted),
    st.lists(st.integers(0, 60), max_size=40),
    st.lists(st.sampled_from([7, 8]), max_size=40),
)
backlogs = st.dictionaries(
    st.sampled_from([at("a"), at("a", 1), at("b"), at("b", 1), at("c")]), times, min_size=1
)


@settings(max_examples=150, deadline=None)
@given(backlog=backlogs, limit=st.integers(1, 30))
def test_batches_move_keep_their_limit_and_let_nobody_get_ahead(
    backlog: dict[TopicPartition, list[int]], limit: int
) -> None:
    with TemporaryDirectory() as folder:
        run = run_all(Path(folder), backlog, limit)
    run.check(frozenset(backlog))


@settings(max_examples=60, deadline=None)
@given(backlog=backlogs, limit=st.integers(1, 30))
def test_so_they_do_in_groups_and_with_times_of_the_records_own(
    backlog: dict[TopicPartition, list[int]], limit: int
) -> None:
    groups = [frozenset({at("a"), at("b")}), frozenset({at("a", 1), at("b", 1), at("c")})]
    groups = [group & backlog.keys() for group in groups]
    with TemporaryDirectory() as folder:
        run = run_all(Path(folder), backlog, limit, groups, {"b": values, "c": values})
    for group in groups:
        run.check(group)


def test_a_full_batch_in_spite_of_unequal_partitions(tmp_path: Path) -> None:
    """One partition has nearly all records: the shares of the others are not wasted."""
    busy = {at("a"): range(50_000)}
    quiet = {at(topic, n): range(0, 50_000, 50) for topic in "bcd" for n in range(2)}
    run = run_all(tmp_path, busy | quiet, 1000)
    assert len(run.batches) <= 1.5 * 56_000 / 1000
    run.check(frozenset(busy | quiet))


def test_times_of_the_records_own_are_found_by_halves(tmp_path: Path) -> None:
    """The log's own times go backwards here, and would lead astray."""
    backlog = {at("a"): range(40_000), at("b"): range(0, 40_000, 100), at("b", 1): range(20_000, 40_000, 100)}
    run = run_all(tmp_path, backlog, 10_000, extract={"a": values, "b": values})
    run.check(frozenset(backlog))
    assert len(run.batches) <= 6


def test_one_topic_is_over_before_another_begins(tmp_path: Path) -> None:
    backlog = {at("old"): range(5000), at("new"): range(10_000, 15_000), at("newer"): range(20_000, 25_000)}
    run = run_all(tmp_path, backlog, 500)
    assert len(run.batches) <= 1.5 * 15_000 / 500
    order = [tp.topic for taken in run.batches for tp in backlog if taken[tp]]
    assert list(dict.fromkeys(order)) == ["old", "new", "newer"]


def test_equal_times_at_a_cut_do_not_stop_it(tmp_path: Path) -> None:
    run = run_all(tmp_path, {at("a"): [5] * 100, at("b"): [5] * 100}, 10)
    assert len(run.batches) <= 20


def test_a_record_from_the_future_waits_for_the_others_and_only_for_them(tmp_path: Path) -> None:
    """What comes behind it waits, too, as behind the head of a partition in Kafka Streams; then all goes on."""
    run = run_all(tmp_path, {at("a"): [1, 10**9, *range(2, 50)], at("b"): list(range(100))}, 10)
    ahead = next(n for n, taken in enumerate(run.batches) if 10**9 in taken[at("a")])
    assert sum(len(taken[at("b")]) for taken in run.batches[:ahead]) >= 90
    run.check(frozenset(run.backlog))


def test_what_was_once_in_the_future_does_not_hold_back_what_follows(tmp_path: Path) -> None:
    """The log finds a record of that time before the place where reading goes on: it is over and does not count."""
    with EmbeddedLog(tmp_path / "log") as log:
        log.create_topic("a", 1)
        log.append([Outgoing("a", [b"k"] * 6, [b"v"] * 6, [10**9, 3, 4, 90, 5, 6])])
        found = EventTimes(log).first_after({at("a"): (1, 6)}, 50)
    assert found == {at("a"): 3}


def grouped(
    build: Callable[[StreamsBuilder], object], topics: dict[str, int], **more: Any
) -> set[frozenset[str]]:
    builder = StreamsBuilder()
    build(builder)
    config = StreamsConfig(application_id="app", **more)
    found = meeting_partitions(lay_out(builder.build(), "app", topics), config)
    return {frozenset(f"{tp.topic}{tp.partition}" for tp in group) for group in found}


def joined(builder: StreamsBuilder, **source: Any) -> None:
    left, right = builder.stream("l", value=str, **source), builder.stream("r", value=str)
    left.join(right, join=max, windows=JoinWindows(SECOND)).to("out")


def by_value(builder: StreamsBuilder) -> Any:
    return builder.stream("l", value=str).group_by(lambda key, value: value)


def test_partitions_of_a_join_meet_by_their_number() -> None:
    assert grouped(joined, {"l": 2, "r": 2}) == {frozenset({"l0", "r0"}), frozenset({"l1", "r1"})}


def test_behind_a_shuffle_all_partitions_meet_where_time_decides() -> None:
    windows = TimeWindows(SECOND)
    assert grouped(lambda b: by_value(b).windowed_by(windows).count(), {"l": 3}) == {
        frozenset({"l0", "l1", "l2"})
    }


def test_nobody_waits_for_the_sake_of_a_plain_count_or_a_window_without_a_shuffle() -> None:
    windows = TimeWindows(SECOND)
    assert grouped(lambda b: by_value(b).count(), {"l": 3}) == set()
    own = lambda b: b.stream("l", value=str).group_by_key().windowed_by(windows).count()  # noqa: E731
    assert grouped(own, {"l": 3}) == set()


def test_a_processor_of_the_users_own_may_ask_for_the_time() -> None:
    class Pass(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record)

    found = grouped(lambda b: b.stream("l", value=str).repartition().process(Pass), {"l": 2})
    assert found == {frozenset({"l0", "l1"})}


def test_a_pattern_is_several_topics() -> None:
    found = grouped(lambda b: b.stream(re.compile("t."), value=str).to("out"), {"ta": 1, "tb": 2})
    assert found == {frozenset({"ta0", "tb0"})}


def test_records_that_happen_when_they_are_processed_wait_for_nobody() -> None:
    found = grouped(lambda b: joined(b, timestamp_extractor=wallclock_timestamp), {"l": 2, "r": 2})
    assert found == set()


def test_times_are_asked_for_only_where_an_extractor_reads_the_record() -> None:
    builder = StreamsBuilder()
    joined(builder, timestamp_extractor=lambda record, highest: int(record.value))
    config = StreamsConfig(application_id="app")
    found = extracted_times(lay_out(builder.build(), "app", {"l": 2, "r": 2}), config)
    assert list(found) == ["l"]
    chunk = Chunk("l", 0, [0, 1, 2], [9, 9, 9], [b"k", None, b"k"], [b"5", b"x", b"7"])
    assert found["l"](chunk) == [5, -1, 7]
