"""Topologies whose sources and handlers have settings; in a module, so that workers find what they name."""

from __future__ import annotations

import re
from datetime import timedelta

from headrace import (
    Answer,
    DeadLetter,
    ErrorContext,
    Response,
    StreamsBuilder,
    TimeWindows,
    Topology,
    dead_letter,
    field_timestamp,
    log_and_skip_on_invalid_timestamp,
    wallclock_timestamp,
)
from headrace.errors import ProcessingError


def beginnings() -> Topology:
    """One topic from its end, one from its beginning, and those of a pattern as the settings say."""
    builder = StreamsBuilder()
    builder.stream("late", value=str, offset_reset="latest").to("late-out", value=str)
    builder.stream("early", value=str, offset_reset="earliest").to("early-out", value=str)
    builder.stream(re.compile("any-.*"), value=str).to("pattern-out", value=str)
    return builder.build()


def in_memory() -> Topology:
    """All stores in memory, because the builder says so."""
    builder = StreamsBuilder(persistent=False)
    words = builder.stream("in", value=str).group_by_key()
    words.count(store="counts").to_stream().to("out", value=int)
    words.windowed_by(TimeWindows(timedelta(milliseconds=50))).count(store="windows")
    return builder.build()


def times() -> Topology:
    builder = StreamsBuilder()
    at = field_timestamp("at", on_invalid=log_and_skip_on_invalid_timestamp)
    builder.stream("fields", value=dict, timestamp_extractor=at).to("by-field", value=dict)
    builder.table("rows", value=str, timestamp_extractor=wallclock_timestamp).to_stream().to(
        "by-clock", value=str
    )
    return builder.build()


def number(value: str) -> int:
    return int(value)


def failing() -> Topology:
    builder = StreamsBuilder()
    builder.global_table("rates", value=int, store="rates")
    numbers = builder.stream("in", value=str).map_values(number, value=int, name="number")
    numbers.group_by_key().reduce(lambda a, b: a + b, store="sums").to_stream().to("sums")
    return builder.build()


def letters(context: ErrorContext, error: ProcessingError) -> Answer:
    """The record itself, and what is wrong with it as text."""
    why = DeadLetter("why", context.key, str(error.__cause__).encode(), context.timestamp)
    return Answer(Response.CONTINUE, dead_letters=[dead_letter(context, error, "failed"), why])
