"""Mistakes with durations and windows: one message each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from mistake_topologies import S, Same, processed, run, words
from mistakes import Mistake, collector

from headrace import (
    JoinWindows,
    Materialized,
    ProcessorContext,
    PunctuationType,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    TimeWindows,
    UnlimitedWindows,
    key_value_store,
    session_store,
    window_store,
)
from headrace.errors import InvalidArgumentError, InvalidDurationError

MISTAKES: list[Mistake] = []
mistake = collector(MISTAKES)


@mistake(
    InvalidDurationError,
    "`size` must be at least one millisecond, got -0:00:01",
)
def a_negative_size() -> None:
    TimeWindows(size=-S)  # here


@mistake(
    InvalidDurationError,
    "`size` must be at least one millisecond, got 0:00:00",
)
def no_size() -> None:
    TimeWindows(size=timedelta(0))  # here


@mistake(
    InvalidDurationError,
    "`size` takes a timedelta, got 5: write timedelta(seconds=5) or timedelta(milliseconds=5)",
)
def a_number_for_a_duration() -> None:
    TimeWindows(size=5)  # here


@mistake(
    InvalidDurationError,
    "`size` must be at least one millisecond, got 0:00:00.000005",
)
def less_than_a_millisecond() -> None:
    TimeWindows(size=timedelta(microseconds=5))  # here


@mistake(
    InvalidArgumentError,
    "`advance` must not be longer than the window, got 0:00:02 for windows of 0:00:01",
)
def an_advance_beyond_the_size() -> None:
    TimeWindows(size=S, advance=2 * S)  # here


@mistake(
    InvalidDurationError,
    "`grace` must be zero or more, got -0:00:01",
)
def a_negative_grace() -> None:
    TimeWindows(size=S, grace=-S)  # here


@mistake(
    InvalidDurationError,
    "`gap` takes a timedelta, got 3: write timedelta(seconds=3) or timedelta(milliseconds=3)",
)
def a_number_for_a_gap() -> None:
    SessionWindows(gap=3)  # here


@mistake(
    InvalidDurationError,
    "`gap` must be at least one millisecond, got -0:00:01",
)
def a_negative_gap() -> None:
    SessionWindows(gap=-S)  # here


@mistake(
    InvalidDurationError,
    "`difference` takes a timedelta, got 3: write timedelta(seconds=3) or timedelta(milliseconds=3)",
)
def a_number_for_a_difference() -> None:
    SlidingWindows(difference=3)  # here


@mistake(
    InvalidArgumentError,
    "`start` takes a datetime with a time zone, got 100: write datetime(…, tzinfo=timezone.utc)",
)
def a_number_for_the_start_of_an_unlimited_window() -> None:
    UnlimitedWindows(start=100)  # here


@mistake(
    InvalidArgumentError,
    "`start` must not be before 1970, got 1969-12-31 00:00:00+00:00: there are no records of such a time",
)
def an_unlimited_window_before_all_time() -> None:
    UnlimitedWindows(start=datetime(1969, 12, 31, tzinfo=UTC))  # here


@mistake(
    InvalidArgumentError,
    "`before` and `after` leave nothing between them, got 0:00:01 and -0:00:02: their sum "
    "must be zero or more",
)
def a_join_window_that_ends_before_it_begins() -> None:
    JoinWindows(before=S, after=-2 * S)  # here


@mistake(
    InvalidDurationError,
    "`before` takes a timedelta, got 5: write timedelta(seconds=5) or timedelta(milliseconds=5)",
)
def a_join_window_of_a_number() -> None:
    JoinWindows(5)  # here


@mistake(
    InvalidArgumentError,
    "`windowed_by` takes `TimeWindows`, `SlidingWindows` or `SessionWindows`, got "
    "datetime.timedelta(seconds=1)",
    node="KSTREAM-SOURCE-0000000000",
)
def windows_that_are_a_duration() -> None:
    words().group_by_key().windowed_by(S)  # here


@mistake(
    InvalidArgumentError,
    "`windowed_by` takes `TimeWindows`, `SlidingWindows` or `SessionWindows`, got "
    "JoinWindows(before_ms=1000, after_ms=1000, grace_ms=0, idle_ms=None)",
    node="KSTREAM-SOURCE-0000000000",
)
def windows_of_a_join() -> None:
    words().group_by_key().windowed_by(JoinWindows(S))  # here


@mistake(
    InvalidArgumentError,
    "streams are joined within `windows=JoinWindows(...)`, got TimeWindows(size_ms=1000, "
    "advance_ms=1000, grace_ms=0)",
    node="KSTREAM-SOURCE-0000000000",
)
def windows_of_an_aggregate_for_a_join() -> None:
    builder = StreamsBuilder()
    words(builder).join(words(builder, "r"), join=lambda a, b: a, windows=TimeWindows(size=S))  # here


@mistake(
    InvalidArgumentError,
    "`retention` is for windows and sessions, and rows without them stay, got 0:00:01: use "
    "`ttl` to let rows run out",
    node="c",
)
def a_retention_without_windows() -> None:
    words().group_by_key().count(store=Materialized("c", retention=S))  # here


@mistake(
    InvalidArgumentError,
    "`retention` is for windows and sessions, and rows without them stay, got 0:00:01: use "
    "`ttl` to let rows run out",
    node="t",
)
def a_retention_of_a_table() -> None:
    StreamsBuilder().table("in", value=str, store=Materialized("t", retention=S))  # here


@mistake(
    InvalidArgumentError,
    "a store with `max_entries` cannot have a cache in front, which would hide which rows are"
    " gone: leave `caching` out",
    node="c",
)
def a_cache_before_a_limit_of_rows() -> None:
    words().group_by_key().count(store=Materialized("c", max_entries=5, caching=True))  # here


@mistake(
    InvalidArgumentError,
    "a store with `max_entries` cannot have a cache in front, which would hide which rows are"
    " gone: leave `caching` out",
    node="s",
)
def a_cache_before_a_processors_limit_of_rows() -> None:
    key_value_store("s", value=str, max_entries=5, caching=True)  # here


@mistake(
    InvalidArgumentError,
    "a store whose rows run out cannot have a cache in front, which would hide which rows are"
    " gone: leave `caching` out",
    node="s",
)
def a_cache_before_rows_that_run_out() -> None:
    key_value_store("s", value=str, ttl=S, caching=True)  # here


@mistake(
    InvalidArgumentError,
    "`retention` must not be shorter than the window and its grace (0:00:10), got 0:00:01",
    node="c",
)
def a_retention_shorter_than_the_window() -> None:
    windowed = words().group_by_key().windowed_by(TimeWindows(size=10 * S))
    windowed.count(store=Materialized("c", retention=S))  # here


@mistake(
    InvalidArgumentError,
    "`retention` must not be shorter than the window, got 0:00:01 for windows of 0:00:10",
    node="s",
)
def a_window_store_shorter_than_its_windows() -> None:
    window_store("s", size=10 * S, retention=S)  # here


@mistake(
    InvalidDurationError,
    "`size` takes a timedelta, got 10: write timedelta(seconds=10) or timedelta(milliseconds=10)",
)
def a_window_store_of_a_number() -> None:
    window_store("s", size=10, retention=S)  # here


@mistake(
    InvalidDurationError,
    "`retention` must be at least one millisecond, got 0:00:00",
)
def a_session_store_without_retention() -> None:
    session_store("s", retention=timedelta(0))  # here


@mistake(
    InvalidArgumentError,
    "`emit_strategy` takes `EmitStrategy.ON_WINDOW_UPDATE`, `.ON_WINDOW_CLOSE` or `.on_window_close(idle=…)`, "
    "got 'final'",
)
def an_emit_strategy_in_words() -> None:
    windowed = words().group_by_key().windowed_by(TimeWindows(size=S))
    windowed.emit_strategy("final")  # here


@mistake(
    InvalidDurationError,
    "`interval` takes a timedelta, got 5: write timedelta(seconds=5) or timedelta(milliseconds=5)",
)
def a_punctuator_every_five() -> None:
    class Tick(Same):
        def init(self, context: ProcessorContext[str, str]) -> None:
            super().init(context)
            context.schedule(5, PunctuationType.STREAM_TIME, print)  # here

    run(processed(Tick))


@mistake(
    InvalidArgumentError,
    "`schedule` takes `PunctuationType.STREAM_TIME` or `.WALL_CLOCK_TIME`, got 'stream'",
    node="mine",
)
def a_punctuator_by_a_clock_in_words() -> None:
    class Tick(Same):
        def init(self, context: ProcessorContext[str, str]) -> None:
            super().init(context)
            context.schedule(S, "stream", print)  # here

    run(processed(Tick))


@mistake(
    InvalidArgumentError,
    "`schedule` takes a function of (time), got None",
    node="mine",
)
def a_punctuator_of_nothing() -> None:
    class Tick(Same):
        def init(self, context: ProcessorContext[str, str]) -> None:
            super().init(context)
            context.schedule(S, PunctuationType.STREAM_TIME, None)  # here

    run(processed(Tick))


@pytest.mark.parametrize("slip", MISTAKES, ids=str)
def test_the_message_says_what_where_and_how_to_mend_it(slip: Mistake) -> None:
    slip.check()
