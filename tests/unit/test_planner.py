"""How far a batch reads: up to its limits, fairly over partitions, and to a common time over topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from headrace.errors import OffsetOutOfRangeError, StartError
from headrace.log import Outgoing
from headrace.log.base import TopicPartition
from headrace.log.embedded import EmbeddedLog
from headrace.spark import planner as planning
from headrace.spark.commit import CommitRecord, Plan
from headrace.spark.planner import Planner


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EmbeddedLog]:
    with EmbeddedLog(tmp_path / "log") as opened:
        yield opened


def fill(
    log: EmbeddedLog, topic: str, timestamps: Sequence[int], *, partition: int = 0, size: int = 10
) -> None:
    if topic not in log.topics():
        log.create_topic(topic, 2)
    keys = [b"k"] * len(timestamps)
    if not timestamps:
        return
    log.append([Outgoing(topic, keys, [b"x" * size] * len(timestamps), timestamps, partitions=partition)])


def planner(log: EmbeddedLog, *, records: int = 1000, size: int = 1 << 30, **more: object) -> Planner:
    made = Planner(log, log.topics(), {}, records, size, **more)  # type: ignore[arg-type]
    made.planned = 1  # the first batch of a start is smaller
    return made


def start(log: EmbeddedLog, **more: object) -> CommitRecord:
    zero = {topic: [0] * count for topic, count in log.topics().items()}
    return msgspec.structs.replace(CommitRecord("i", 0, 0, zero), **more)


def planned(plan: Plan | None) -> Mapping[str, list[int]]:
    assert plan is not None
    return plan.ends


def test_all_of_a_small_backlog_is_read(log: EmbeddedLog) -> None:
    fill(log, "a", range(30))
    fill(log, "a", range(20), partition=1)
    assert planned(planner(log).plan(start(log))) == {"a": [30, 20]}


def test_a_batch_is_built_on_the_commit_it_was_told(log: EmbeddedLog) -> None:
    fill(log, "a", range(30))
    plan = planner(log, clock=lambda: 99).plan(start(log, number=7, positions={"a": [10, 0]}))
    assert plan is not None
    assert (plan.number, plan.wall_clock, plan.starts, plan.ends) == (8, 99, {"a": [10, 0]}, {"a": [30, 0]})


def test_nothing_new_means_no_batch_but_the_first_one_comes_all_the_same(log: EmbeddedLog) -> None:
    fill(log, "a", range(3))
    done = start(log, positions={"a": [3, 0]})
    fresh = planner(log)
    fresh.planned = 0
    assert fresh.plan(done) is not None
    assert fresh.plan(done) is None


def test_a_large_backlog_is_shared_fairly_and_what_one_leaves_goes_to_the_other(log: EmbeddedLog) -> None:
    fill(log, "a", range(5000))
    fill(log, "a", range(100), partition=1)
    assert planned(planner(log).plan(start(log))) == {"a": [900, 100]}


def test_the_first_batch_is_small(log: EmbeddedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "FIRST_BATCH", 100)
    fill(log, "a", range(500))
    fresh = planner(log)
    fresh.planned = 0
    first = fresh.plan(start(log))
    assert planned(first) == {"a": [100, 0]}
    assert planned(fresh.plan(start(log, number=1, positions=planned(first)))) == {"a": [500, 0]}


def test_large_records_make_a_batch_of_fewer(log: EmbeddedLog) -> None:
    fill(log, "a", range(1000), size=10_000)
    ends = planned(planner(log, size=1_000_000).plan(start(log)))
    assert ends["a"][0] * 10_000 <= 1_000_000
    assert ends["a"][0] > 90


def test_a_record_larger_than_a_batch_is_read_alone(log: EmbeddedLog) -> None:
    fill(log, "a", range(100), size=5000)
    assert planned(planner(log, size=100).plan(start(log))) == {"a": [1, 0]}


def test_topics_with_a_backlog_stop_at_the_same_time(log: EmbeddedLog) -> None:
    # Ten records a second in one topic, one every ten seconds in the other.
    fill(log, "busy", range(0, 1_000_000, 100))
    fill(log, "quiet", range(0, 1_000_000, 10_000))
    base, reached = start(log), []
    made = planner(log)
    while base.positions != {"busy": [10_000, 0], "quiet": [100, 0]}:
        ends = planned(made.plan(base))
        assert ends != base.positions, "a plan that does not move would loop for ever"
        base = msgspec.structs.replace(base, number=base.number + 1, positions=dict(ends))
        reached.append((ends["busy"][0] * 100, ends["quiet"][0] * 10_000))
    assert len(reached) > 5
    assert all(quiet <= busy + 10_000 for busy, quiet in reached)


def test_what_the_application_sent_to_itself_is_read_whole_and_is_a_reason_for_a_batch(
    log: EmbeddedLog,
) -> None:
    """As far as the commit says that it goes, which the log may not know yet."""
    fill(log, "a", range(30))
    fill(log, "back", range(1000, 1025))
    made = planner(log, records=10, looped=frozenset({"back"}))
    base = start(log, ends={"back": [25, 40]})
    assert planned(made.plan(base)) == {"a": [1, 0], "back": [25, 40]}
    idle = msgspec.structs.replace(base, positions={"a": [30, 0], "back": [20, 40]})
    assert planned(made.plan(idle)) == {"a": [30, 0], "back": [25, 40]}
    assert made.plan(msgspec.structs.replace(idle, positions={"a": [30, 0], "back": [25, 40]})) is None


def test_a_due_punctuator_is_a_reason_for_a_batch(log: EmbeddedLog) -> None:
    fill(log, "a", range(3))
    made = planner(log, clock=lambda: 1000)
    done = start(log, positions={"a": [3, 0]})
    assert made.plan(msgspec.structs.replace(done, due=1001)) is None
    assert made.plan(msgspec.structs.replace(done, due=1000)) is not None


def test_commits_keep_their_distance(log: EmbeddedLog) -> None:
    fill(log, "a", range(3))
    made = planner(log, clock=lambda: 1000, commit_interval_ms=500)
    assert made.plan(start(log, wall_clock=501)) is None
    assert made.plan(start(log, wall_clock=500)) is not None
    assert made.plan(start(log, wall_clock=9000)) is not None, "the clock was set back: nobody waits for it"


def test_records_wait_a_while_for_a_partition_that_they_meet_and_that_has_none(log: EmbeddedLog) -> None:
    """`max_task_idle`: time goes on without it when the while is over, until it has something to say again."""
    fill(log, "a", range(3))
    fill(log, "b", [])
    now = [1000]
    group = frozenset({TopicPartition("a", 0), TopicPartition("b", 0)})
    made = planner(log, clock=lambda: now[0], idle_ms=500, meeting=[group])
    assert made.plan(start(log)) is None
    now[0] = 1499
    assert made.plan(start(log)) is None
    now[0] = 1500
    assert planned(made.plan(start(log))) == {"a": [3, 0], "b": [0, 0]}
    fill(log, "a", [5], partition=1)
    assert planned(made.plan(start(log, positions={"a": [3, 0], "b": [0, 0]}))) == {"a": [3, 1], "b": [0, 0]}
    fill(log, "b", [6])
    read = start(log, positions={"a": [3, 1], "b": [0, 0]})
    assert made.plan(read) is None
    fill(log, "a", [7])
    assert planned(made.plan(read)) == {"a": [4, 1], "b": [1, 0]}


def test_a_topic_that_is_shorter_than_what_was_read_of_it_is_another_one(log: EmbeddedLog) -> None:
    fill(log, "a", range(3))
    now = [0]
    made = planner(log, clock=lambda: now[0])
    assert made.plan(start(log, positions={"a": [5, 0]})) is None
    now[0] = 5000
    with pytest.raises(
        OffsetOutOfRangeError, match=r"`a`, partition 0: .* offset 5, .* ends at 3: it was deleted"
    ):
        made.plan(start(log, positions={"a": [5, 0]}))


def test_a_partition_that_is_added_meanwhile_is_noticed(log: EmbeddedLog) -> None:
    fill(log, "a", range(3))
    now = [0]
    made = Planner(log, {"a": 1}, {}, 1000, 1 << 30, clock=lambda: now[0])
    base = CommitRecord("i", 0, 0, {"a": [0]})
    assert planned(made.plan(base)) == {"a": [3]}
    now[0] = 30_000
    with pytest.raises(StartError, match=r"`a` now has 2 partitions, and had 1 when the application started"):
        made.plan(base)


def test_nothing_is_read_beyond_a_given_end_but_what_the_application_wrote_itself(log: EmbeddedLog) -> None:
    fill(log, "a", range(30))
    fill(log, "own", range(30))
    wanted = {"a": [20, 0], "own": [10, 0]}
    written = start(log, ends={"own": [25, 0]})
    assert planned(planner(log).plan(written, wanted)) == {"a": [20, 0], "own": [25, 0]}
    done = start(log, ends={"own": [25, 0]}, positions={"a": [20, 0], "own": [25, 0]})
    made = planner(log)
    assert made.plan(done, wanted) is None
    assert planned(made.plan(done)) == {"a": [30, 0], "own": [30, 0]}


def test_who_waits_for_the_end_does_not_wait_for_the_commit_interval(log: EmbeddedLog) -> None:
    fill(log, "a", range(30))
    made = planner(log, clock=lambda: 1000, commit_interval_ms=500)
    base = start(log, wall_clock=900)
    assert made.plan(base) is None
    assert planned(made.plan(base, hurry=True)) == {"a": [30, 0]}
    assert planned(made.plan(base, {"a": [10, 0]})) == {"a": [10, 0]}


def test_a_backfill_begins_with_a_large_batch(log: EmbeddedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "FIRST_BATCH", 7)
    fill(log, "a", range(30))
    fresh, backfill = planner(log), planner(log)
    fresh.planned = backfill.planned = 0
    assert planned(fresh.plan(start(log))) == {"a": [7, 0]}
    assert planned(backfill.plan(start(log), {"a": [30, 0]})) == {"a": [30, 0]}
