"""The states of an application and who hears of them: Kafka Streams' rules, without a query."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

import pytest

from headrace import StreamsBuilder
from headrace.app import Streams
from headrace.app.life import Life
from headrace.app.restoring import RestoreEvents
from headrace.app.states import State
from headrace.errors import StoreError
from headrace.log.base import TopicPartition
from headrace.spark.commit import Report, Restored
from headrace.spark.prints import Prints
from headrace.spark.restores import RestoreEvent

KAFKA = {
    State.CREATED: {State.REBALANCING, State.PENDING_SHUTDOWN},
    State.REBALANCING: {State.RUNNING, State.PENDING_SHUTDOWN, State.PENDING_ERROR},
    State.RUNNING: {State.REBALANCING, State.PENDING_SHUTDOWN, State.PENDING_ERROR},
    State.PENDING_SHUTDOWN: {State.NOT_RUNNING},
    State.NOT_RUNNING: set(),
    State.PENDING_ERROR: {State.ERROR},
    State.ERROR: set(),
}
"""As in Kafka Streams 4.3.1, but for RUNNING to RUNNING, which only several threads need."""


def test_the_ways_between_states_are_kafka_streams_own() -> None:
    assert {state: {other for other in State if state.can_become(other)} for state in State} == KAFKA


@pytest.mark.parametrize("state", State)
def test_a_step_that_is_not_allowed_changes_and_tells_nothing(state: State) -> None:
    life, heard = Life(), []
    life.state = state
    life.listener = lambda new, old: heard.append((new, old))
    for other in State:
        if other not in KAFKA[state]:
            assert not life.become(other)
    assert life.state is state
    assert heard == []


def test_a_listener_hears_every_change_in_order_also_of_those_it_makes_itself() -> None:
    life, heard = Life(), []

    def listen(new: State, old: State) -> None:
        if new is State.RUNNING:
            life.become(State.PENDING_SHUTDOWN)
            assert life.state is State.PENDING_SHUTDOWN
        heard.append((old, new))

    life.listener = listen
    life.become(State.REBALANCING)
    life.become(State.RUNNING)
    life.become(State.NOT_RUNNING)
    assert heard == [
        (State.CREATED, State.REBALANCING),
        (State.REBALANCING, State.RUNNING),
        (State.RUNNING, State.PENDING_SHUTDOWN),
        (State.PENDING_SHUTDOWN, State.NOT_RUNNING),
    ]


def test_a_listener_that_raises_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    life = Life()

    def listen(new: State, old: State) -> None:
        raise ValueError("no")

    life.listener = listen
    with caplog.at_level(logging.ERROR, "headrace"):
        assert life.become(State.REBALANCING)
        assert life.become(State.RUNNING)
    assert [record.getMessage() for record in caplog.records] == [
        "the state listener raised; the application is rebalancing all the same",
        "the state listener raised; the application is running all the same",
    ]


def test_the_end_is_reached_when_the_listener_has_heard_of_it() -> None:
    life, heard, go_on = Life(), [], threading.Event()

    def listen(new: State, old: State) -> None:
        if new is State.NOT_RUNNING:
            assert go_on.wait(60)
        heard.append(new)

    life.listener = listen
    life.become(State.PENDING_SHUTDOWN)
    ending = threading.Thread(target=life.become, args=[State.NOT_RUNNING])
    ending.start()
    try:
        assert life.wait_for(lambda: life.state is State.NOT_RUNNING, 60)
        assert not life.has_ended
    finally:
        go_on.set()
        ending.join()
    assert life.has_ended
    assert heard[-1] is State.NOT_RUNNING


def test_many_threads_tell_one_at_a_time_and_only_one_of_them_ends_it() -> None:
    life, heard, inside = Life(), [], []

    def listen(new: State, old: State) -> None:
        inside.append(new)
        assert len(inside) == 1
        heard.append((old, new))
        inside.pop()

    life.listener = listen
    life.become(State.REBALANCING)
    won = []
    threads = [
        threading.Thread(target=lambda: won.append(life.become(State.PENDING_SHUTDOWN))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]
    assert heard == [(State.CREATED, State.REBALANCING), (State.REBALANCING, State.PENDING_SHUTDOWN)]


class Listener:
    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def on_restore_start(self, place: TopicPartition, store: str, start: int, end: int) -> None:
        self.heard.append(("start", place, store, start, end))

    def on_batch_restored(self, place: TopicPartition, store: str, end: int, count: int) -> None:
        self.heard.append(("batch", place, store, end, count))

    def on_restore_end(self, place: TopicPartition, store: str, total: int) -> None:
        self.heard.append(("end", place, store, total))

    def on_restore_suspended(self, place: TopicPartition, store: str, total: int) -> None:
        self.heard.append(("suspended", place, store, total))


def test_a_restore_listener_hears_what_kafka_streams_would_tell() -> None:
    """Records since the last call, and the total at the end."""
    listener = Listener()
    events = RestoreEvents(listener)
    place = TopicPartition("app-counts-changelog", 2)

    def hear(kind: str, store: str, offset: int, records: int) -> None:
        events.hear(RestoreEvent(kind, "0_2", store, place.topic, 2, 5, 90, offset, records))  # type: ignore[arg-type]

    hear("start", "counts", 5, 0)
    hear("progress", "counts", 50, 40)
    hear("start", "names", 5, 0)
    hear("progress", "names", 20, 10)
    hear("end", "counts", 90, 75)
    hear("suspended", "names", 20, 10)
    hear("start", "names", 20, 0)
    hear("end", "names", 90, 60)
    assert listener.heard == [
        ("start", place, "counts", 5, 90),
        ("batch", place, "counts", 50, 40),
        ("start", place, "names", 5, 90),
        ("batch", place, "names", 20, 10),
        ("batch", place, "counts", 90, 35),
        ("end", place, "counts", 75),
        ("suspended", place, "names", 10),
        ("start", place, "names", 5, 90),
        ("batch", place, "names", 90, 60),
        ("end", place, "names", 60),
    ]


class _Stuck:
    """A query that cannot be stopped, since the disk of its folder is full, and a log that cannot be closed."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def alive(self) -> bool:
        return True

    def stop(self, timeout: float | None) -> bool:
        self.asked.append("query")
        raise OSError(28, "No space left on device")

    def close(self) -> None:
        self.asked.append("log")
        raise StoreError("that, too")


@pytest.mark.parametrize("failed", [False, True])
def test_the_end_comes_also_where_something_cannot_be_given_back(
    failed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).to("out")
    streams, stuck = Streams(builder.build(), application_id="app"), _Stuck()
    engine = streams._engine
    engine.query = engine.opened = stuck  # type: ignore[assignment]
    closed: list[str] = []
    engine._leave_spark = lambda: closed.append("spark")  # type: ignore[method-assign]
    engine.life.become(State.REBALANCING)
    with caplog.at_level(logging.ERROR, "headrace"):
        if failed:
            engine.fail(ValueError("no"))
            with pytest.raises(ValueError, match="no"):
                streams.wait(10)
        else:
            assert streams.close(timedelta(seconds=10))
    assert streams.state is (State.ERROR if failed else State.NOT_RUNNING)
    assert (stuck.asked, closed) == (["query", "log"], ["spark"])
    assert "not all that it held could be given back" in caplog.text


def test_nobody_who_is_called_waits_for_an_end_that_waits_for_him() -> None:
    """`close` in a restore listener, or where prints are shown, returns at once."""
    builder = StreamsBuilder()
    builder.stream("in", value=str).to("out")
    streams, answers = Streams(builder.build(), application_id="app"), []

    class Closing:
        def on_restore_start(self, *_: object) -> None:
            answers.append(streams._life.in_callback)

        on_batch_restored = on_restore_end = on_restore_suspended = on_restore_start

    streams.set_global_state_restore_listener(Closing())
    streams.on_print(lambda prints: answers.append(streams._life.in_callback))
    done = Restored("counts", "app-counts-changelog", 0, 5, 5)
    streams._engine.restores.committed([Report("0_1", restores=[done])])
    streams._engine._show([Prints("0_1", [])])
    assert answers == [True] * 4
    assert not streams._life.in_callback
