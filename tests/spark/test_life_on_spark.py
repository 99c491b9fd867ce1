"""The life of an application: Kafka Streams' states, closing at any moment, failing, pausing, cleaning up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import (
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    State,
    Streams,
    StreamsBuilder,
    StreamThreadExceptionResponse,
    Topology,
)
from headrace.errors import CallbackError, IllegalStateError, InvalidDurationError
from headrace.log.base import TopicPartition
from headrace.spark.commit import CommitRecord, decode
from tests.spark.harness import Application, append, encoded, flat
from tests.spark.harness.application import TIMEOUT

Make = Callable[..., Application]
REPLACE = StreamThreadExceptionResponse.REPLACE_THREAD


def counting() -> Topology:
    builder = StreamsBuilder()
    counts = builder.stream("in", value=int).group_by_key().count(store="counts")
    counts.to_stream().to("out")
    return builder.build()


def listening(app: Application) -> tuple[Streams, list[tuple[State, State]]]:
    """An application that has not started, and the changes of its state to come."""
    streams = app.create()
    heard: list[tuple[State, State]] = []
    streams.set_state_listener(lambda new, old: heard.append((old, new)))
    return streams, heard


class Held:
    """The worker that has processed a task's records waits before it goes on, as a slow function would."""

    def __init__(self, failpoints: Path) -> None:
        self._point, self._held = failpoints / "process.after", failpoints / "process.after.held"

    def __enter__(self) -> Held:
        self._point.write_text("hold")
        return self

    def wait(self) -> None:
        until = time.monotonic() + TIMEOUT
        while not self._held.exists():
            assert time.monotonic() < until
            time.sleep(0.01)

    def __exit__(self, *error: object) -> None:
        for file in (self._point, self._held):
            with suppress(FileNotFoundError):
                file.unlink()


def test_a_whole_life(application: Make) -> None:
    app = application(counting(), partitions=1)
    streams, heard = listening(app)
    assert streams.state is State.CREATED
    streams.start()
    with pytest.raises(IllegalStateError, match="an application starts once; this one is re"):
        streams.start()
    app.feed({"in": [encoded("a", 1, 5)]})
    assert streams.state is State.RUNNING
    for setter, value in [
        (streams.set_state_listener, lambda new, old: None),
        (streams.set_uncaught_exception_handler, lambda error: REPLACE),
        (streams.set_global_state_restore_listener, object()),
    ]:
        with pytest.raises(
            IllegalStateError, match="can only be set before the start; the application is running"
        ):
            setter(value)  # type: ignore[operator]
    with pytest.raises(IllegalStateError, match=r"it is running: call `close\(\)` first"):
        streams.clean_up()
    with pytest.raises(InvalidDurationError, match="`timeout` must be zero or more"):
        streams.close(timedelta(seconds=-1))
    assert streams.close()
    assert streams.close()
    assert streams.wait(0)
    assert heard == [
        (State.CREATED, State.REBALANCING),
        (State.REBALANCING, State.RUNNING),
        (State.RUNNING, State.PENDING_SHUTDOWN),
        (State.PENDING_SHUTDOWN, State.NOT_RUNNING),
    ]
    with pytest.raises(IllegalStateError, match="this one is not running"):
        streams.start()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("headrace-")]


def test_one_that_never_started_is_closed(application: Make) -> None:
    streams, heard = listening(application(counting()))
    assert streams.close()
    assert heard == [
        (State.CREATED, State.PENDING_SHUTDOWN),
        (State.PENDING_SHUTDOWN, State.NOT_RUNNING),
    ]


def test_closing_in_a_listener_ends_it_without_waiting(application: Make) -> None:
    app = application(counting(), partitions=1)
    streams = app.create()
    answers = []

    def listen(new: State, old: State) -> None:
        if new is State.RUNNING:
            answers.append(streams.close())

    streams.set_state_listener(listen)
    streams.start()
    assert streams.wait(TIMEOUT)
    assert answers == [False]
    assert streams.state is State.NOT_RUNNING
    # The first batch was committed all the same, and the application is free to be started again.
    app.streams = None
    app.run([{"in": [encoded("a", 1, 5)]}])


@pytest.mark.parametrize("moment", ["before it opens anything", "while it opens"])
def test_closing_while_it_starts(application: Make, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a signal does, in the very thread that starts."""
    app = application(counting(), partitions=1)
    streams, heard = listening(app)
    answers = []
    if moment == "while it opens":
        opened = streams._engine._run_query
        monkeypatch.setattr(
            streams._engine, "_run_query", lambda: (answers.append(streams.close()), opened())
        )
    else:
        tell = streams._life.listener
        assert tell is not None

        def listen(new: State, old: State) -> None:
            tell(new, old)
            if new is State.REBALANCING:
                answers.append(streams.close())

        streams.set_state_listener(listen)
    assert streams.start() is streams
    assert streams.wait(TIMEOUT)
    assert answers == [False]
    assert [new for _, new in heard] == [State.REBALANCING, State.PENDING_SHUTDOWN, State.NOT_RUNNING]
    app.streams = None
    app.run([{"in": [encoded("a", 1, 5)]}])
    assert len(flat(app.read("out"))) == 1


def test_a_close_that_is_too_short_says_so_and_goes_on(application: Make, failpoints: Path) -> None:
    app = application(counting(), partitions=1)
    app.start()
    streams = app.streams
    assert streams is not None
    app.feed({"in": [encoded("a", 1, 5)]})
    with Held(failpoints) as held:
        append(app.log, {"in": [encoded("a", 1, 6)]})
        held.wait()
        assert not streams.close(timedelta(0))
        assert not streams.close(timedelta(milliseconds=50))
        assert streams.state is State.PENDING_SHUTDOWN
        assert not streams.wait(0.05)
    assert streams.close()
    assert streams.state is State.NOT_RUNNING
    # The batch that ran was not lost: closing waits for its commit.
    assert [record.timestamp for record in flat(app.read("out"))] == [5, 6]


class Restores:
    """Counts what it hears of each store."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def on_restore_start(self, place: TopicPartition, store: str, start: int, end: int) -> None:
        self.heard.append(("start", place, store, start, end))

    def on_batch_restored(self, place: TopicPartition, store: str, end: int, count: int) -> None:
        self.heard.append(("batch", place, store, end, count))

    def on_restore_end(self, place: TopicPartition, store: str, total: int) -> None:
        self.heard.append(("end", place, store, total))

    def on_restore_suspended(self, place: TopicPartition, store: str, total: int) -> None:
        raise AssertionError("nothing interrupts it")


def test_cleaned_up_stores_are_restored_and_a_listener_hears_of_it(application: Make) -> None:
    app = application(counting(), partitions=1)
    app.start()
    app.feed({"in": [encoded(f"k{n}", 1, n) for n in range(20)]})
    streams = app.streams
    assert streams is not None
    app.stop()
    assert streams.config.state_path.is_dir()
    streams.clean_up()
    assert not streams.config.state_path.exists()
    streams.clean_up()  # there is nothing, which is well
    streams = app.create()
    listener = Restores()
    streams.set_global_state_restore_listener(listener)
    streams.start()
    streams.wait_until_running(TIMEOUT)
    place = TopicPartition("app-counts-changelog", 0)
    assert [event for event in listener.heard if event[2] == "counts"] == [
        ("start", place, "counts", 0, 20),
        ("batch", place, "counts", 20, 20),
        ("end", place, "counts", 20),
    ]
    assert dict(streams.store("counts").all()) == {f"k{n}": 1 for n in range(20)}


def failing(folder: Path) -> Topology:
    """Fails at every 13 while there is no file `mended`."""
    mended = folder / "mended"

    def check(key: str, value: int) -> bool:
        if value == 13 and not mended.exists():
            raise ValueError("thirteen")
        return True

    builder = StreamsBuilder()
    counts = builder.stream("in", value=int).filter(check).group_by_key().count(store="counts")
    counts.to_stream().to("out")
    return builder.build()


def test_a_query_is_replaced_until_it_works(application: Make, tmp_path: Path) -> None:
    app = application(failing(tmp_path), partitions=1)
    streams, heard = listening(app)
    errors: list[BaseException] = []

    def handle(error: BaseException) -> StreamThreadExceptionResponse:
        errors.append(error)
        if len(errors) == 3:
            (tmp_path / "mended").touch()
        return REPLACE

    streams.set_uncaught_exception_handler(handle)
    streams.start()
    app.feed({"in": [encoded("a", 1, 5)]}, {"in": [encoded("a", 13, 6), encoded("b", 1, 7)]})
    assert len(errors) == 3
    assert all(isinstance(error, CallbackError) for error in errors)
    assert streams.metrics.replaced == 3
    assert streams.state is State.RUNNING
    assert [record.timestamp for record in flat(app.read("out"))] == [5, 6, 7]
    app.stop()
    assert heard == [
        (State.CREATED, State.REBALANCING),
        (State.REBALANCING, State.RUNNING),
        (State.RUNNING, State.REBALANCING),
        (State.REBALANCING, State.RUNNING),
        (State.RUNNING, State.PENDING_SHUTDOWN),
        (State.PENDING_SHUTDOWN, State.NOT_RUNNING),
    ]


def test_replacing_for_ever_waits_longer_each_time_and_can_be_closed(
    application: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = application(failing(tmp_path), partitions=1)
    streams = app.create()
    streams.set_uncaught_exception_handler(lambda error: REPLACE)
    append(app.log, {"in": [encoded("a", 13, 6)]})
    streams.start()
    until = time.monotonic() + TIMEOUT
    while streams.metrics.replaced < 4:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert streams.close()
    said = [record.getMessage() for record in caplog.records if "replacing" in record.getMessage()]
    assert [text.split()[4] for text in said[:4]] == ["0.1", "0.2", "0.4", "0.8"]
    assert streams.state is State.NOT_RUNNING
    assert flat(app.read("out")) == []


def failing_handler(error: BaseException) -> StreamThreadExceptionResponse:
    raise RuntimeError("the handler is broken, too")


@pytest.mark.parametrize(
    ("handler", "note"),
    [
        (None, None),
        (failing_handler, "the uncaught-exception handler raised RuntimeError: the handler is broken, too"),
        (lambda error: None, "must answer with one of `StreamThreadExceptionResponse`, got None"),
        (lambda error: StreamThreadExceptionResponse.SHUTDOWN_APPLICATION, None),
    ],
    ids=["no handler", "one that raises", "one that says nothing", "shutdown application"],
)
def test_what_fails_for_good_becomes_an_error(
    application: Make, tmp_path: Path, handler: Any, note: str | None
) -> None:
    app = application(failing(tmp_path), partitions=1)
    streams, heard = listening(app)
    if handler is not None:
        streams.set_uncaught_exception_handler(handler)
    append(app.log, {"in": [encoded("a", 13, 6)]})
    streams.start()
    with pytest.raises(CallbackError, match="thirteen") as caught:
        streams.wait(TIMEOUT)
    assert streams.error is caught.value
    notes = [text for text in caught.value.__notes__ if text.startswith("and the uncaught-exception handler")]
    assert len(notes) == (note is not None)
    assert note is None or note in notes[0]
    assert [new for _, new in heard] == [State.REBALANCING, State.PENDING_ERROR, State.ERROR]
    assert streams.close()  # as in Kafka Streams: there is nothing left to close
    assert streams.state is State.ERROR
    record = app.log.publisher("app")
    last = record.last_commit()
    record.close()
    told = None if last is None else decode(last, CommitRecord).shutdown
    if handler is not None and note is None:
        assert told is not None
        assert "thirteen" in told
        # The next start is a new beginning.
        (tmp_path / "mended").touch()
        app.streams = None
        app.start()
        app.catch_up()
        app.stop()
        record = app.log.publisher("app")
        assert decode(record.last_commit() or b"", CommitRecord).shutdown is None
        record.close()
    else:
        assert told is None


class Ticker(Processor[str, int, str, int]):
    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context
        context.schedule(timedelta(milliseconds=50), PunctuationType.WALL_CLOCK_TIME, self.tick)

    def tick(self, timestamp: int) -> None:
        self.context.forward(Record("tick", 1, timestamp))

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)


def ticking() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=int).process(Ticker).to("out", key=str, value=int)
    return builder.build()


def test_a_paused_application_plans_nothing_and_no_clock_ticks(application: Make) -> None:
    app = application(ticking(), partitions=1)
    streams = app.create()
    streams.pause()
    assert streams.is_paused
    append(app.log, {"in": [encoded("a", 1, 5)]})
    streams.start()
    time.sleep(2)
    # Nothing was planned, so it has not come to RUNNING.
    assert streams.state is State.REBALANCING
    assert app.batches == []
    with pytest.raises(IllegalStateError, match="it is paused"):
        streams.wait_until_caught_up(1)
    streams.resume()
    assert not streams.is_paused
    app.catch_up()
    until = time.monotonic() + TIMEOUT
    while not any(record.key == b"tick" for record in flat(app.read("out"))):
        assert time.monotonic() < until
        time.sleep(0.02)
    streams.pause()
    batches = -1
    while batches != len(app.batches):  # the running batch goes on to its commit
        batches = len(app.batches)
        time.sleep(1)
    append(app.log, {"in": [encoded("b", 1, 6)]})
    time.sleep(1)
    assert len(app.batches) == batches
    # Paused, it can be closed.
    assert streams.close()
    assert [record.timestamp for record in flat(app.read("out")) if record.key != b"tick"] == [5]
