"""Windows that close while no record comes: by the wall clock, once, and the same in every host."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from semantics.hosts import Outcome, Pipe, Step, Wait, everywhere
from semantics.scenarios.common import ms

from headrace import (
    BufferConfig,
    EmitStrategy,
    JoinWindows,
    KTable,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
)
from headrace.errors import InvalidArgumentError
from headrace.testing import TopologyTestDriver

SIZE, GRACE, IDLE = 20, 5, 30
LONG = Materialized[str, int]("rows", retention=timedelta(hours=1))


def built(build: Callable[[Any], KTable[Any, Any]]) -> Topology:
    builder = StreamsBuilder()
    build(builder.stream("in", value=str).group_by_key()).to_stream().to("out")
    return builder.build()


def final(idle: int) -> EmitStrategy:
    return EmitStrategy.on_window_close(idle=ms(idle))


def tumbling(grouped: Any, idle: int = IDLE) -> KTable[Any, Any]:
    windows = TimeWindows(ms(SIZE), grace=ms(GRACE))
    return grouped.windowed_by(windows).emit_strategy(final(idle)).count(store=LONG)


def hopping(grouped: Any, idle: int = IDLE) -> KTable[Any, Any]:
    windows = TimeWindows(ms(SIZE), advance=ms(8), grace=ms(GRACE))
    return grouped.windowed_by(windows).emit_strategy(final(idle)).count(store=LONG)


def sliding(grouped: Any, idle: int = IDLE) -> KTable[Any, Any]:
    return (
        grouped.windowed_by(SlidingWindows(ms(SIZE), grace=ms(GRACE)))
        .emit_strategy(final(idle))
        .count(store=LONG)
    )


def sessions(grouped: Any, idle: int = IDLE) -> KTable[Any, Any]:
    return (
        grouped.windowed_by(SessionWindows(ms(SIZE), grace=ms(GRACE)))
        .emit_strategy(final(idle))
        .count(store=LONG)
    )


def suppressed(grouped: Any, idle: int = IDLE) -> KTable[Any, Any]:
    counts = grouped.windowed_by(TimeWindows(ms(SIZE), grace=ms(GRACE))).count(store=LONG)
    return counts.suppress(Suppressed.until_window_closes(idle=ms(idle)))


def suppressed_sessions(grouped: Any, idle: int = IDLE) -> KTable[Any, Any]:
    counts = grouped.windowed_by(SessionWindows(ms(SIZE), grace=ms(GRACE))).count(store=LONG)
    return counts.suppress(Suppressed.until_window_closes(BufferConfig.unbounded(), idle=ms(idle)))


def for_a_while(grouped: Any, idle: int = IDLE) -> KTable[Any, Any]:
    return grouped.count().suppress(Suppressed.until_time_limit(ms(SIZE), idle=ms(idle)))


FINAL = (tumbling, hopping, sliding, sessions, suppressed, suppressed_sessions)

pipes = st.builds(
    Pipe,
    st.just("in"),
    st.sampled_from(["k1", "k2", None]),
    st.just("v"),
    st.integers(0, 150),
    st.sampled_from([(), (("h", b"1"),)]),
)
steps = st.lists(pipes | pipes | st.builds(Wait, st.integers(1, 60)), max_size=25)


@pytest.mark.parametrize("build", [*FINAL, for_a_while], ids=lambda build: build.__name__)
@settings(max_examples=10, deadline=None)
@given(steps=steps)
def test_all_hosts_agree_and_a_result_is_final(
    build: Callable[..., KTable[Any, Any]], steps: list[Step]
) -> None:
    outcome = everywhere(built(build), steps)
    keys = [key for key, _, _, _ in outcome.outputs.get("out", [])]
    if build in FINAL:
        assert len(keys) == len(set(keys))


class Model:
    """Tumbling windows, said in the simplest way."""

    def __init__(self) -> None:
        self.time, self.wall = -1, 0
        self.seen: tuple[int, int] | None = None
        self.open: dict[tuple[int, str], int] = {}
        self.out: list[tuple[str, int, int, bool]] = []

    def step(self, step: Step) -> None:
        if isinstance(step, Wait):
            self.wall += step.milliseconds
            self.wait()
            return
        if step.key is not None:
            self.time = max(self.time, step.timestamp)
            start = step.timestamp // SIZE * SIZE
            if start + SIZE > self.time - GRACE:
                self.open[start, step.key] = self.open.get((start, step.key), 0) + 1
            self.close(bool(step.headers))
        self.seen = (self.wall, self.time)

    def wait(self) -> None:
        if self.seen is None or self.wall - self.seen[0] < IDLE:
            return
        reached = self.seen[1] + self.wall - self.seen[0]
        for start, _ in sorted(self.open):
            if start + SIZE + GRACE <= reached:
                self.time = max(self.time, start + SIZE + GRACE)
                self.close(False)

    def close(self, headers: bool) -> None:
        for start, key in sorted(self.open):
            if start + SIZE + GRACE <= self.time:
                self.out.append((key, start, self.open.pop((start, key)), headers))


def read(outcome: Outcome) -> list[tuple[str, int, int, bool]]:
    return [
        (
            key[:-8].decode(),
            int.from_bytes(key[-8:], "big"),
            int.from_bytes(value or b"", "big"),
            bool(headers),
        )
        for key, value, _, headers in outcome.outputs.get("out", [])
        if key is not None
    ]


@settings(max_examples=40, deadline=None)
@given(steps=steps)
def test_tumbling_windows_close_when_the_rule_says(steps: list[Step]) -> None:
    model = Model()
    for step in steps:
        model.step(step)
    assert read(everywhere(built(tumbling), steps)) == model.out


@settings(max_examples=12, deadline=None)
@given(steps=st.lists(pipes, max_size=25))
def test_without_idle_time_nothing_differs_from_final_results(steps: list[Pipe]) -> None:
    windows = TimeWindows(ms(SIZE), grace=ms(GRACE))
    strategy = EmitStrategy.ON_WINDOW_CLOSE
    plain = built(lambda grouped: grouped.windowed_by(windows).emit_strategy(strategy).count(store=LONG))
    assert everywhere(plain, steps) == everywhere(built(tumbling), steps)


def both(left: str | None, right: str | None) -> str:
    return f"{left}+{right}"


def joined(kind: str, before: int = 10, after: int = 10) -> Topology:
    builder = StreamsBuilder()
    left, right = builder.stream("left", value=str), builder.stream("right", value=str)
    windows = JoinWindows(before=ms(before), after=ms(after), grace=ms(GRACE), idle=ms(IDLE))
    getattr(left, kind)(right, windows=windows, join=both).to("out", value=str)
    return builder.build()


sides = st.builds(
    Pipe,
    st.sampled_from(["left", "right"]),
    st.sampled_from(["k1", "k2", None]),
    st.sampled_from(["a", "b", None]),
    st.integers(0, 100),
)


@pytest.mark.parametrize(("before", "after"), [(10, 10), (0, 25), (30, -5)])
@pytest.mark.parametrize("kind", ["left_join", "outer_join"])
@settings(max_examples=10, deadline=None)
@given(steps=st.lists(sides | sides | st.builds(Wait, st.integers(1, 60)), max_size=25))
def test_joins_agree_in_all_hosts(kind: str, before: int, after: int, steps: list[Step]) -> None:
    everywhere(joined(kind, before, after), steps)


def meet(topology: Topology, *steps: tuple[str, int] | timedelta) -> list[str]:
    """Records by side and timestamp; durations pass."""
    with TopologyTestDriver(topology, initial_wall_clock_time=0) as driver:
        for step in steps:
            if isinstance(step, timedelta):
                driver.advance_wall_clock_time(step)
            else:
                driver.input(step[0]).pipe("k", f"{step[0][0]}{step[1]}", timestamp=step[1])
        return driver.output("out").read_values()


def test_who_has_met_nobody_goes_out_while_nothing_comes() -> None:
    assert meet(joined("left_join"), ("left", 50), ms(IDLE - 1)) == []
    assert meet(joined("left_join"), ("left", 50), ms(IDLE)) == ["l50+None"]
    assert meet(joined("outer_join"), ("right", 50), ("left", 70), ms(IDLE)) == ["None+r50", "l70+None"]
    assert meet(joined("outer_join"), ("right", 50), ("left", 60), ms(IDLE)) == ["l60+r50"]
    # Ten milliseconds of window, five of grace, and one more.
    late = joined("left_join", after=100)
    assert meet(late, ("left", 50), ms(105)) == []
    assert meet(late, ("left", 50), ms(106)) == ["l50+None"]


def test_who_has_gone_out_alone_is_not_met_any_more() -> None:
    found = meet(
        joined("outer_join"), ("left", 50), timedelta(hours=1), ("right", 52), ("right", 70), ms(IDLE)
    )
    assert found == ["l50+None", "None+r52", "None+r70"]


def drive(topology: Topology, *steps: int | timedelta) -> list[Any]:
    """Numbers are timestamps of records; durations pass."""
    with TopologyTestDriver(topology, initial_wall_clock_time=0) as driver:
        for step in steps:
            if isinstance(step, timedelta):
                driver.advance_wall_clock_time(step)
            else:
                driver.input("in").pipe("k", "v", timestamp=step)
        return [(w.start, n) for w, n in driver.output("out").read_key_values()]


@pytest.mark.parametrize(
    ("build", "time"),
    [(tumbling, 25), (sliding, 26), (sessions, 29), (suppressed, 25), (suppressed_sessions, 28)],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_window_closes_when_its_end_and_grace_have_passed(build: Callable[..., Any], time: int) -> None:
    """The record is at 3, and the operator's time has to become `time`: so much later by the wall clock."""
    topology = built(lambda grouped: build(grouped, idle=1))
    start = 3 if "session" in build.__name__ else 0
    assert drive(topology, 3, ms(time - 3 - 1)) == []
    assert drive(topology, 3, ms(time - 3)) == [(start, 1)]
    # Unless that is less than the idle time.
    assert drive(built(build), 3, ms(IDLE - 1)) == []
    assert drive(built(build), 3, ms(IDLE)) == [(start, 1)]


def test_a_window_that_is_far_from_its_end_takes_as_long_as_it_would() -> None:
    topology = built(
        lambda g: g.windowed_by(TimeWindows(ms(1000), grace=ms(100))).emit_strategy(final(IDLE)).count()
    )
    assert drive(topology, 10, ms(1089)) == []
    assert drive(topology, 10, ms(1089), ms(1)) == [(0, 1)]


def test_every_record_begins_the_waiting_anew() -> None:
    assert drive(built(tumbling), 3, ms(20), 4, ms(29)) == []
    assert drive(built(tumbling), 3, ms(20), 4, ms(30)) == [(0, 2)]


@pytest.mark.parametrize("build", [tumbling, suppressed], ids=lambda build: build.__name__)
def test_what_comes_after_it_was_closed_is_late_and_what_is_newer_is_not(build: Callable[..., Any]) -> None:
    found = drive(built(build), 3, timedelta(hours=1), 5, 30, ms(60))
    assert found == [(0, 1), (20, 1)]


def test_a_silence_closes_nothing_that_nobody_has_opened() -> None:
    """Time goes no further than what it closes: after an hour, the next window is not late."""
    assert drive(built(tumbling), 3, timedelta(hours=1), 26, timedelta(hours=1)) == [(0, 1), (20, 1)]


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: EmitStrategy.on_window_close(idle=timedelta(0)),
        lambda: Suppressed.until_window_closes(idle=timedelta(0)),
        lambda: Suppressed.until_time_limit(ms(1), idle=timedelta(0)),
        lambda: JoinWindows(ms(1), idle=timedelta(0)),
    ],
)
def test_mistakes_are_named(mistake: Callable[[], Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="`idle` must be at least one millisecond") as raised:
        mistake()
    assert __file__ in str(raised.value)
