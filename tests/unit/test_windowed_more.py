"""Sliding windows, cogroups and final results: what they refuse, and what a failing callback leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    EmitStrategy,
    KGroupedStream,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Windowed,
    log_and_continue,
)
from headrace.errors import InvalidArgumentError
from headrace.testing import TopologyTestDriver

CONTINUE = StreamsConfig(application_id="app", processing_handler=log_and_continue)


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def grouped(builder: StreamsBuilder, topic: str = "in") -> KGroupedStream[str, int]:
    return builder.stream(topic, value=int).group_by_key()


def picky(key: str, value: int, so_far: int) -> int:
    if value < 0:
        raise ValueError("negative")
    return so_far + value


def test_records_that_are_close_share_windows_of_both_ends() -> None:
    builder = StreamsBuilder()
    grouped(builder).windowed_by(SlidingWindows(ms(10))).count(store="n").to_stream().to("out", value=int)
    with TopologyTestDriver(builder.build()) as driver:
        source = driver.input("in")
        for timestamp in (20, 30):
            source.pipe("k", 1, timestamp=timestamp)
        windows = dict(driver.get_state_store("n").all())
        assert {window: found.value for window, found in windows.items()} == {
            Windowed("k", 10, 20): 1,
            Windowed("k", 20, 30): 2,
            Windowed("k", 21, 31): 1,
        }


def test_a_failing_aggregator_ends_the_record_in_all_its_sliding_windows() -> None:
    builder = StreamsBuilder()
    table = grouped(builder).windowed_by(SlidingWindows(ms(10))).aggregate(int, picky, store="sums")
    table.to_stream().to("out", value=int)
    with TopologyTestDriver(builder.build(), CONTINUE) as driver:
        source = driver.input("in")
        source.pipe("k", 1, timestamp=20)
        source.pipe("k", -1, timestamp=25)
        source.pipe("k", 2, timestamp=26)
        found = {window: value.value for window, value in driver.get_state_store("sums").all()}
        assert found == {Windowed("k", 10, 20): 1, Windowed("k", 16, 26): 3, Windowed("k", 21, 31): 2}


def test_an_aggregator_may_change_the_value_it_is_given() -> None:
    def append(key: str, value: int, so_far: list[int]) -> list[int]:
        so_far.append(value)
        return so_far

    builder = StreamsBuilder()
    table = grouped(builder).windowed_by(SlidingWindows(ms(10), grace=ms(50)))
    table.aggregate(list[int], append, value=list[int], store="lists")
    with TopologyTestDriver(builder.build()) as driver:
        source = driver.input("in")
        for value, timestamp in ((1, 30), (2, 35), (3, 32), (4, 3), (5, 1)):
            source.pipe("k", value, timestamp=timestamp)
        found = {window.start: value.value for window, value in driver.get_state_store("lists").all()}
        assert found == {20: [1], 25: [1, 2, 3], 31: [2, 3], 22: [1, 3], 33: [2], 0: [4, 5], 2: [4]}


def test_a_failing_aggregator_ends_the_record_in_all_its_hopping_windows() -> None:
    calls = []

    def once(key: str, value: int, so_far: int) -> int:
        calls.append(value)
        raise ValueError("never")

    builder = StreamsBuilder()
    hops = grouped(builder).windowed_by(TimeWindows(ms(10), advance=ms(5)))
    hops.aggregate(int, once, store="sums")
    with TopologyTestDriver(builder.build(), CONTINUE) as driver:
        driver.input("in").pipe("k", 1, timestamp=7)
        assert calls == [1]


@pytest.mark.parametrize(
    "windows",
    [TimeWindows(ms(10), grace=ms(5)), SlidingWindows(ms(10), grace=ms(5)), SessionWindows(ms(10))],
    ids=lambda windows: type(windows).__name__,
)
def test_a_final_result_waits_for_a_record_that_does_not_fail(windows: Any) -> None:
    builder = StreamsBuilder()
    final = grouped(builder).windowed_by(windows).emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    store: Materialized[str, int] = Materialized("sums", retention=ms(1000))
    if isinstance(windows, SessionWindows):
        table = final.aggregate(int, picky, lambda key, left, right: left + right, store=store)
    else:
        table = final.aggregate(int, picky, store=store)
    table.to_stream().to("out", value=int)
    with TopologyTestDriver(builder.build(), CONTINUE) as driver:
        source, out = driver.input("in"), driver.output("out")
        source.pipe("k", 7, timestamp=20)
        source.pipe("k", -1, timestamp=100)
        assert out.is_empty()
        source.pipe("k", 1, timestamp=100)
        assert out.read_values() == [7]
        assert out.is_empty()


def test_final_results_come_in_order_of_time_and_key_and_only_once() -> None:
    builder = StreamsBuilder()
    windows = grouped(builder).windowed_by(TimeWindows(ms(10)))
    final = windows.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    final.count(store=Materialized("n", retention=ms(1000))).to_stream().to("out", value=int)
    with TopologyTestDriver(builder.build()) as driver:
        source, out = driver.input("in"), driver.output("out")
        for key, timestamp in (("b", 0), ("a", 0), ("c", 1)):
            source.pipe(key, 1, timestamp=timestamp)
        assert out.is_empty()
        source.pipe("a", 1, timestamp=15)
        source.pipe("a", 1, timestamp=16)
        found = [(record.key.key, record.key.start) for record in out.read_records()]
        assert found == [("a", 0), ("b", 0), ("c", 0)]
        source.pipe("z", 1, timestamp=100)
        assert [(record.key.key, record.value) for record in out.read_records()] == [("a", 2)]


def test_a_cogroup_judges_lateness_for_each_stream() -> None:
    builder = StreamsBuilder()
    both = grouped(builder, "a").cogroup(picky, value=int).cogroup(grouped(builder, "b"), picky)
    both.windowed_by(TimeWindows(ms(10))).aggregate(int, store="sums").to_stream().to("out", value=int)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("a").pipe("k", 1, timestamp=5)
        driver.input("a").pipe("k", 1, timestamp=500)
        driver.input("b").pipe("k", 2, timestamp=5)
        driver.input("a").pipe("k", 4, timestamp=5)
        assert driver.output("out").read_values()[:2] == [1, 1]


@pytest.mark.parametrize("windows", [TimeWindows(ms(10)), SlidingWindows(ms(10)), SessionWindows(ms(10))])
def test_the_table_of_a_cogroup_with_windows_is_joined_as_any_other(windows: Any) -> None:
    """Kafka Streams builds it, too, and then fails at the start (ADR 0028)."""
    merge = {"merger": lambda key, a, b: a + b} if isinstance(windows, SessionWindows) else {}

    def run(aggregate: Callable[[KGroupedStream[str, int]], Any]) -> list[Any]:
        builder = StreamsBuilder()
        table = aggregate(grouped(builder))
        tens = table.map_values(lambda n: n * 10, value=int)
        table.join(tens, join=lambda n, ten: n + ten, value=int).to_stream().to("out")
        with TopologyTestDriver(builder.build()) as driver:
            for timestamp in (5, 7, 30, 31):
                driver.input("in").pipe("k", 1, timestamp=timestamp)
            return driver.output("out").read_records()

    cogrouped = run(lambda g: g.cogroup(picky, value=int).windowed_by(windows).aggregate(int, **merge))
    assert cogrouped == run(lambda g: g.windowed_by(windows).aggregate(int, picky, value=int, **merge))
    assert len(cogrouped) >= 8


def refused_by(make: Callable[[StreamsBuilder], object]) -> str:
    with pytest.raises(InvalidArgumentError) as caught:
        make(StreamsBuilder())
    assert __file__ in str(caught.value.origin)
    return str(caught.value)


def test_mistakes_are_told_where_they_are_made() -> None:
    other: Any = StreamsBuilder().stream("x", value=int).group_by_key()
    wrong: Any = "x"
    assert "`difference` must be at least one millisecond" in refused_by(lambda b: SlidingWindows(ms(0)))
    assert "`grace` must be zero or more" in refused_by(lambda b: SlidingWindows(ms(1), grace=ms(-1)))
    assert "`retention` must not be shorter" in refused_by(
        lambda b: (
            grouped(b).windowed_by(SlidingWindows(ms(10))).count(store=Materialized("n", retention=ms(15)))
        )
    )
    assert "`emit_strategy` takes `EmitStrategy.ON_WINDOW_UPDATE`" in refused_by(
        lambda b: grouped(b).windowed_by(SlidingWindows(ms(10))).emit_strategy(wrong)
    )
    assert "`windowed_by` takes `TimeWindows`, `SlidingWindows`" in refused_by(
        lambda b: grouped(b).cogroup(picky).windowed_by(wrong)
    )
    assert "`cogroup` takes a function of (key, value, so far)" in refused_by(
        lambda b: grouped(b).cogroup(wrong)
    )
    assert "`cogroup` takes a `KGroupedStream`, got 'x'" in refused_by(
        lambda b: grouped(b).cogroup(picky).cogroup(wrong, picky)
    )
    assert "same `StreamsBuilder`" in refused_by(lambda b: grouped(b).cogroup(picky).cogroup(other, picky))


@pytest.mark.parametrize(
    "windows",
    [TimeWindows(ms(10)), SlidingWindows(ms(10)), SessionWindows(ms(10))],
    ids=["time", "sliding", "session"],
)
def test_each_update_is_sent_on_when_one_says_so_and_when_one_says_nothing(windows: Any) -> None:
    def sent(*strategies: EmitStrategy) -> tuple[str, list[Any]]:
        builder = StreamsBuilder()
        windowed = grouped(builder).windowed_by(windows)
        for strategy in strategies:
            windowed = windowed.emit_strategy(strategy)
        windowed.count(store="n").to_stream().to("out", value=int)
        topology = builder.build()
        with TopologyTestDriver(topology) as driver:
            source = driver.input("in")
            for timestamp in (0, 3, 5, 12, 40, 4):
                source.pipe("k", 1, timestamp=timestamp)
            return topology.describe(), [tuple(record) for record in driver.produced("out")]

    default = sent()
    assert sent(EmitStrategy.on_window_update()) == default
    # The last word counts, and it is not that of the end of windows.
    assert sent(EmitStrategy.ON_WINDOW_CLOSE, EmitStrategy.on_window_update()) == default
    assert len(default[1]) > len(sent(EmitStrategy.ON_WINDOW_CLOSE)[1]) > 0
    assert EmitStrategy.on_window_update() == EmitStrategy.ON_WINDOW_UPDATE
