"""`suppress` as a user meets it: what comes out, what a full buffer says, what is refused, what its changelog holds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

import pytest

from headrace import (
    BufferConfig,
    Materialized,
    Record,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
    Topology,
    log_and_continue,
)
from headrace.errors import BufferFullError, CallbackError, InvalidArgumentError, StoreError
from headrace.serdes import serde_for
from headrace.state import MemoryBackend, memory_store, open_view
from headrace.testing import TopologyTestDriver


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def held(until: Suppressed) -> Topology:
    builder = StreamsBuilder()
    builder.table("in", value=int, store="rows").suppress(until, name="calm").to_stream().to("out")
    return builder.build()


def test_the_last_update_of_a_key_leaves_when_the_first_has_waited_long_enough() -> None:
    with TopologyTestDriver(held(Suppressed.until_time_limit(ms(10)))) as driver:
        source, out = driver.input("in"), driver.output("out")
        source.pipe("a", 1, timestamp=0, headers=[("n", "1")])
        source.pipe("a", 2, timestamp=8, headers=[("n", "2")])
        assert out.is_empty()
        source.pipe("b", 3, timestamp=10)
        assert out.read_records() == [Record("a", 2, 8, (("n", b"2"),))]
        assert dict(driver.store("calm-store").all())["b"].new == 3


def test_a_full_buffer_that_may_not_send_early_says_what_where_and_how_to_mend_it() -> None:
    two = BufferConfig.max_records(2).with_max_bytes(10_000).shut_down_when_full()
    with TopologyTestDriver(held(Suppressed.until_time_limit(ms(10), two))) as driver:
        source = driver.input("in")
        source.pipe("a", 1, timestamp=0)
        source.pipe("b", 1, timestamp=0)
        with pytest.raises(BufferFullError) as caught:
            source.pipe("c", 1, timestamp=0)
    assert caught.value.node == "calm"
    assert caught.value.origin is not None
    assert caught.value.origin.file == __file__
    assert caught.value.metadata == ("in", 0, 2)
    assert str(caught.value).startswith(
        "the buffer `calm-store` of `suppress` is full: it holds 3 records of at most 2 and 117 bytes of at most "
        "10,000; allow it more (`with_max_records`, `with_max_bytes`, `with_no_bound`), wait less, or let it send "
        "updates on early (`until_time_limit` with `emit_early_when_full`)"
    )


def test_limits_may_be_lifted_and_the_order_of_settings_does_not_matter() -> None:
    config = BufferConfig.max_records(1).with_logging_disabled().with_max_bytes(1).shut_down_when_full()
    assert (config.logging, config.emits_early) == (False, False)
    assert (
        config.emit_early_when_full() == BufferConfig.max_bytes(1).with_max_records(1).with_logging_disabled()
    )
    assert config.with_no_bound() == BufferConfig.unbounded().with_logging_disabled()
    assert config.with_logging_enabled().with_no_bound() == BufferConfig.unbounded()


def build(make: Callable[[StreamsBuilder], object]) -> Callable[[], object]:
    return lambda: make(StreamsBuilder())


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "until close without windows": (
        build(lambda b: b.table("in", value=str).suppress(Suppressed.until_window_closes())),
        "`until_window_closes` needs windows, and the keys of `KTABLE-SOURCE-0000000002` have none: use it right",
    ),
    "until close behind a new key": (
        build(
            lambda b: (
                b.stream("in", value=str)
                .group_by_key()
                .windowed_by(TimeWindows(ms(10)))
                .count()
                .to_stream(lambda window, n: window.key, key=str)
                .to_table()
                .suppress(Suppressed.until_window_closes())
            )
        ),
        "`until_window_closes` needs windows",
    ),
    "early results before the close": (
        lambda: Suppressed.until_window_closes(BufferConfig.max_records(3)),  # type: ignore[arg-type]
        "final results only, so its buffer cannot send updates on early, got EagerBufferConfig\\(record_limit=3",
    ),
    "no buffer": (
        lambda: Suppressed.until_window_closes(100),  # type: ignore[arg-type]
        "`until_window_closes` takes a buffer, got 100: make one with `BufferConfig.unbounded\\(\\)`",
    ),
    "a buffer of no kind": (
        lambda: Suppressed.until_time_limit(ms(1), BufferConfig()),
        "`until_time_limit` takes a buffer, got BufferConfig\\(record_limit=None",
    ),
    "a negative wait": (
        lambda: Suppressed.until_time_limit(ms(-1)),
        "`wait` must be zero or more, got -0:00:00.001000",
    ),
    "a plain number": (
        lambda: Suppressed.until_time_limit(5),  # type: ignore[arg-type]
        r"`wait` takes a timedelta, got 5: write timedelta\(seconds=5\) or timedelta\(milliseconds=5\)",
    ),
    "a negative limit": (
        lambda: BufferConfig.unbounded().with_max_bytes(-1),
        "`with_max_bytes` takes a number, zero or more, got -1",
    ),
    "a limit of another type": (
        lambda: BufferConfig.max_records("3"),  # type: ignore[arg-type]
        "`max_records` takes a number, zero or more, got '3'",
    ),
    "a buffer in place of what to wait for": (
        build(lambda b: b.table("in", value=str).suppress(BufferConfig.unbounded())),  # type: ignore[arg-type]
        "`suppress` takes a `Suppressed`, got StrictBufferConfig",
    ),
    "a versioned table": (
        build(
            lambda b: (
                b.table("in", value=str, store=Materialized("rows", history_retention=ms(100)))
                .filter(lambda key, value: True)
                .suppress(Suppressed.until_time_limit(ms(1)))
            )
        ),
        "`suppress` holds the latest updates back, and `KTABLE-FILTER-0000000002` is versioned",
    ),
    "a bad name": (
        build(lambda b: b.table("in", value=str).suppress(Suppressed.until_time_limit(ms(1)), name="a b")),
        "`name` becomes part of topic names",
    ),
}


@pytest.mark.parametrize(("make", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_cannot_work_is_refused_at_the_users_line(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        make()
    assert caught.value.origin is not None
    assert caught.value.origin.file == __file__


def test_a_key_without_a_window_is_told_from_one_at_the_first_record() -> None:
    """What a processor makes of keys cannot be seen while the topology is built."""
    builder = StreamsBuilder()
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(TimeWindows(ms(10)))
    plain = windowed.count().to_stream(lambda window, n: window.key).to_table()
    plain.suppress(Suppressed.until_window_closes()).to_stream().to("out", value=int)
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(CallbackError) as caught:
        driver.input("in").pipe("a", "x", timestamp=0)
    assert "`until_window_closes` needs keys with a window, got 'a'" in str(caught.value)


def test_a_buffer_cannot_be_asked_from_outside_nor_used_when_it_is_closed() -> None:
    spec, serdes = held(Suppressed.until_time_limit(ms(1))).stores["calm-store"], serde_for(str)
    with pytest.raises(StoreError, match="the store `calm-store` holds records back for an operator"):
        open_view(spec, MemoryBackend(), key=serdes, value=serdes)
    buffer = memory_store("calm-store", "suppression_buffer", key=str, value=int)
    buffer.close()
    with pytest.raises(StoreError, match="store `calm-store` is closed"):
        buffer.put(1, "a", (1, None, True), 1, (), None)


def test_without_logging_there_is_no_changelog() -> None:
    until = Suppressed.until_time_limit(ms(10), BufferConfig.unbounded().with_logging_disabled())
    with TopologyTestDriver(held(until)) as driver:
        driver.input("in").pipe("a", 1, timestamp=0)
        assert not [topic for topic in driver.produced_topic_names() if "calm" in topic]
    kept = held(
        Suppressed.until_time_limit(ms(10), BufferConfig.unbounded().with_logging_enabled({"a": "b"}))
    )
    assert kept.stores["calm-store"].log_config == (("a", "b"),)


def test_a_failure_behind_names_the_record_that_waited() -> None:
    builder = StreamsBuilder()
    table = builder.table("in", value=int).suppress(Suppressed.until_time_limit(ms(10)))
    table.to_stream().map_values(lambda value: 1 // value).to("out", value=int)
    with TopologyTestDriver(builder.build()) as driver:
        source = driver.input("in")
        source.pipe("a", 0, timestamp=0)
        with pytest.raises(CallbackError) as caught:
            source.pipe("b", 1, timestamp=10)
    assert caught.value.metadata == ("in", 0, 0)


def test_a_failure_behind_that_is_skipped_lets_the_others_leave(caplog: pytest.LogCaptureFixture) -> None:
    builder = StreamsBuilder()
    table = builder.table("in", value=int).suppress(Suppressed.until_time_limit(ms(10)), name="calm")
    table.to_stream().map_values(lambda value: 12 // value).to("out", value=int)
    config = StreamsConfig(application_id="app", processing_handler=log_and_continue)
    with caplog.at_level(logging.CRITICAL), TopologyTestDriver(builder.build(), config) as driver:
        source = driver.input("in")
        for number, key in enumerate("abc"):
            source.pipe(key, number, timestamp=number)
        source.pipe("d", 1, timestamp=12)
        assert driver.output("out").read_key_values() == [("b", 12), ("c", 6)]
        assert driver.store("calm-store").num_records == 1
