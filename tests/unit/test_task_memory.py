"""What a task remembers beside its stores, and its punctuators, over restarts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    EmitStrategy,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    SessionWindows,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from headrace.errors import InvalidArgumentError, StoreError
from headrace.log.base import Chunk
from headrace.processor import Cancellable
from headrace.record import TaskId
from headrace.state import memory_store
from headrace.task import Output, StreamTask
from headrace.testing import ManualClock

CONFIG = StreamsConfig(application_id="app", default_value=str)


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def make(topology: Topology, clock: ManualClock | None = None, **stores: Any) -> StreamTask:
    (sub,) = topology.sub_topologies()
    return StreamTask(
        sub,
        TaskId(0, 0),
        application_id="app",
        stores=stores,
        output=Output(partitions=lambda topic: 1),
        config=CONFIG,
        clock=clock or ManualClock(0),
    )


def feed(task: StreamTask, *timestamps: int) -> None:
    count = len(timestamps)
    task.process([Chunk("in", 0, range(count), timestamps, [b"k"] * count, [b"v"] * count)])


def written(task: StreamTask) -> list[str]:
    return [(value or b"").decode() for taken in task.output.take() for value in taken.values]


def windowed() -> Topology:
    builder = StreamsBuilder()
    windows = TimeWindows(ms(10))
    builder.stream("in", value=str).group_by_key().windowed_by(windows).count(store="n").to_stream().to("out")
    return builder.build()


def window_store() -> Any:
    return memory_store("n", "timestamped_window", key=str, value=int, retention_ms=10, window_size_ms=10)


def test_a_snapshot_is_given_only_when_something_changed() -> None:
    task = make(windowed(), n=window_store())
    assert task.snapshot() is None
    feed(task, 5)
    assert task.snapshot() == b'{"KSTREAM-AGGREGATE-0000000001/stream-time":5}'
    feed(task, 3)
    assert task.snapshot() is None, "the time did not move"


def test_a_restored_task_knows_what_is_late() -> None:
    store = window_store()
    task = make(windowed(), n=store)
    feed(task, 100)
    snapshot = task.snapshot()
    later = make(windowed(), n=store)
    later.restore(snapshot)
    feed(later, 5)
    assert written(later) == []
    assert later.dropped == {("KSTREAM-AGGREGATE-0000000001", "late"): 1}
    assert later.snapshot() is None, "nothing has changed since the snapshot that it was restored from"


def test_what_a_quiet_partition_has_seen_is_not_forgotten() -> None:
    seen: list[int] = []

    def extract(record: Record[str, str], highest: int) -> int:
        seen.append(highest)
        return record.timestamp

    builder = StreamsBuilder()
    builder.stream("in", value=str, timestamp_extractor=extract).to("out")

    def run(task: StreamTask, partition: int, timestamp: int) -> bytes | None:
        task.process([Chunk("in", partition, [0], [timestamp], [b"k"], [b"v"])])
        return task.snapshot()

    snapshot = run(make(builder.build()), 0, 100)
    for partition, timestamp in ((1, 50), (2, 60)):
        task = make(builder.build())
        task.restore(snapshot)
        snapshot = run(task, partition, timestamp)
    last = make(builder.build())
    last.restore(snapshot)
    run(last, 0, 1)
    assert seen == [-1, -1, -1, 100]


def test_a_failed_batch_can_be_taken_back() -> None:
    task = make(windowed(), n=window_store())
    feed(task, 5)
    first = task.snapshot()
    written(task)
    feed(task, 100)
    task.restore(first)
    assert written(task) == [], "what the failed batch wrote is gone"
    assert task.snapshot() is None
    feed(task, 9)
    assert len(written(task)) == 1, "9 is not late again"
    task.restore(None)
    assert task.snapshot() is None


def test_a_damaged_snapshot_is_refused() -> None:
    with pytest.raises(StoreError, match="the task's own memory cannot be read"):
        make(windowed(), n=window_store()).restore(b"{")


class Ticks(Processor[str, str, str, str]):
    """Writes what fires, and when."""

    schedules: tuple[tuple[str, int, PunctuationType], ...] = ()

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        self.handles: dict[str, Cancellable] = {}
        for name, interval, kind in self.schedules:
            self.handles[name] = context.schedule(ms(interval), kind, self.tick(name))

    def tick(self, name: str) -> Any:
        return lambda time: self.context.forward(Record(name, f"{name}@{time}", time))

    def process(self, record: Record[str, str]) -> None:
        pass


def ticking(*schedules: tuple[str, int, PunctuationType], base: type[Ticks] = Ticks) -> Topology:
    kind = type("Scheduled", (base,), {"schedules": schedules})
    builder = StreamsBuilder()
    builder.stream("in", value=str).process(kind, name="ticks", value=str).to("out")
    return builder.build()


STREAM, WALL = PunctuationType.STREAM_TIME, PunctuationType.WALL_CLOCK_TIME


def test_stream_time_punctuators_fire_at_the_first_record_and_then_at_multiples() -> None:
    task = make(ticking(("a", 10, STREAM)))
    feed(task, 3)
    assert written(task) == ["a@3"]
    feed(task, 9)
    assert written(task) == []
    feed(task, 10, 4, 25, 29, 30)
    assert written(task) == ["a@10", "a@25", "a@30"]


def test_wall_clock_punctuators_fire_one_interval_after_they_were_scheduled() -> None:
    clock = ManualClock(1000)
    task = make(ticking(("a", 10, WALL)), clock)
    assert task.next_wall_clock_due() == 1010
    assert not task.punctuate(1009)
    assert task.punctuate(1010)
    assert written(task) == ["a@1010"]
    task.punctuate(1055)
    assert written(task) == ["a@1055"], "what was missed is not made up for"
    assert task.next_wall_clock_due() == 1060


def test_no_punctuator_is_never_due() -> None:
    assert make(ticking()).next_wall_clock_due() is None


def test_of_punctuators_that_are_due_together_the_one_that_waited_longer_goes_first() -> None:
    task = make(ticking(("a", 10, WALL), ("b", 20, WALL)))
    task.punctuate(10)
    task.punctuate(20)
    assert written(task) == ["a@10", "b@20", "a@20"]


def test_due_times_survive_a_restart() -> None:
    clock = ManualClock(0)
    topology = ticking(("a", 10, WALL), ("b", 100, STREAM))
    task = make(topology, clock)
    feed(task, 150)
    task.punctuate(12)
    assert written(task) == ["b@150", "a@12"]
    clock.advance(ms(15))
    again = make(topology, clock)
    again.restore(task.snapshot())
    assert again.next_wall_clock_due() == 20
    feed(again, 199)
    again.punctuate(19)
    assert written(again) == []
    feed(again, 200)
    again.punctuate(20)
    assert written(again) == ["b@200", "a@20"]


def test_a_punctuator_that_the_snapshot_does_not_know_starts_like_a_new_one() -> None:
    task = make(ticking(("a", 10, WALL)))
    task.punctuate(10)
    again = make(ticking(("a", 10, WALL), ("b", 7, WALL)), ManualClock(12))
    again.restore(task.snapshot())
    again.punctuate(20)
    assert written(again) == ["b@20", "a@20"], "b was due at 19"


class Cancels(Ticks):
    def process(self, record: Record[str, str]) -> None:
        self.handles["a"].cancel()


def test_a_cancelled_punctuator_stays_cancelled_over_a_restart() -> None:
    topology = ticking(("a", 10, WALL), ("b", 10, WALL), base=Cancels)
    task = make(topology)
    feed(task, 0)
    task.punctuate(10)
    assert written(task) == ["b@10"]
    again = make(topology)
    again.restore(task.snapshot())
    again.punctuate(20)
    assert written(again) == ["b@20"]


class SchedulesLater(Ticks):
    def process(self, record: Record[str, str]) -> None:
        handle = self.context.schedule(ms(5), STREAM, self.tick("later"))
        if record.timestamp == 100:
            handle.cancel()


def test_a_punctuator_may_be_scheduled_and_cancelled_while_a_record_is_processed() -> None:
    task = make(ticking(base=SchedulesLater))
    feed(task, 100)
    assert written(task) == []
    feed(task, 101)
    assert written(task) == ["later@101"]


class CancelsItself(Ticks):
    def tick(self, name: str) -> Any:
        def fire(time: int) -> None:
            self.handles[name].cancel()
            self.context.forward(Record(name, f"{name}@{time}", time))

        return fire


def test_a_punctuator_may_cancel_itself() -> None:
    task = make(ticking(("a", 10, WALL), base=CancelsItself))
    task.punctuate(50)
    task.punctuate(100)
    assert written(task) == ["a@50"]
    assert task.next_wall_clock_due() is None


def test_an_interval_must_be_a_duration() -> None:
    class Wrong(Ticks):
        def init(self, context: ProcessorContext[str, str]) -> None:
            context.schedule(10, STREAM, print)  # type: ignore[arg-type]

    with pytest.raises(InvalidArgumentError, match="`interval` takes a timedelta, got 10"):
        make(ticking(base=Wrong))


class Commits(Ticks):
    closed = False

    def process(self, record: Record[str, str]) -> None:
        self.context.commit()

    def close(self) -> None:
        type(self).closed = True


def test_a_processor_may_ask_for_a_commit() -> None:
    task = make(ticking(base=Commits))
    assert not task.commit_requested
    feed(task, 1)
    assert task.commit_requested


def test_processors_are_closed_once() -> None:
    class Breaks(Commits):
        closes: list[str] = []  # noqa: RUF012

        def close(self) -> None:
            self.closes.append("closed")
            raise RuntimeError("stuck")

    task = make(ticking(base=Breaks))
    with pytest.raises(RuntimeError, match="stuck"):
        task.close()
    task.close()
    assert Breaks.closes == ["closed"]


@pytest.mark.parametrize(
    ("windows", "kind"),
    [(TimeWindows(ms(10)), "timestamped_window"), (SessionWindows(ms(5)), "session")],
    ids=["windows", "sessions"],
)
def test_final_results_that_were_taken_back_are_sent_again(windows: Any, kind: Any) -> None:
    builder = StreamsBuilder()
    final = builder.stream("in", value=str).group_by_key().windowed_by(windows)
    final.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count(store="n").to_stream().to("out")
    store = memory_store("n", kind, key=str, value=int, retention_ms=1000, window_size_ms=10)
    task = make(builder.build(), n=store)
    feed(task, 3, 20)
    assert len(written(task)) == 1
    before = task.snapshot()
    feed(task, 40)
    assert len(written(task)) == 1
    task.restore(before)
    feed(task, 40)
    assert len(written(task)) == 1
    feed(task, 41)
    assert written(task) == []
