"""Windowed: tumbling and sliding windows and sessions, with grace; final results by suppression and at window close."""

from __future__ import annotations

from datetime import timedelta

from headrace import (
    BufferConfig,
    EmitStrategy,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
)

config = {"commit_interval": timedelta(milliseconds=1), "small_batch_records": 50}


def ms(number: int) -> timedelta:
    return timedelta(milliseconds=number)


builder = StreamsBuilder()
words = builder.stream("in", value=str)
grouped = words.group_by_key()
tumbling = grouped.windowed_by(TimeWindows(ms(50), grace=ms(60))).count(store="tumbling")
tumbling.to_stream().to("tumbling", value=int)
tumbling.suppress(Suppressed.until_window_closes(BufferConfig.unbounded())).to_stream().to(
    "suppressed", value=int
)
sessions = grouped.windowed_by(SessionWindows(ms(30), grace=ms(50)))
sessions.reduce(lambda one, other: one + other, store="sessions").to_stream().to("sessions")
by_letter = words.group_by(lambda key, value: value[0])
closing = by_letter.windowed_by(TimeWindows(ms(40), grace=ms(80))).emit_strategy(
    EmitStrategy.on_window_close()
)
closing.count(store="closing").to_stream().to("closing", value=int)
sliding = by_letter.windowed_by(SlidingWindows(ms(20), grace=ms(30)))
sliding.reduce(max, store="highest").to_stream().to("highest")
topology = builder.build()
