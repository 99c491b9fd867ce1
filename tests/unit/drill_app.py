"""An application with stores of all kinds, for drills and standbys."""

from __future__ import annotations

from datetime import timedelta

from headrace import Materialized, SessionWindows, StreamsBuilder, Suppressed, TimeWindows

builder = StreamsBuilder()
words = builder.stream("words", key=str, value=str)
words.group_by_key().count(store="by-key").to_stream().to("counts", value=int)
words.group_by(lambda key, value: value[:1], value=str).count(store="by-letter").to_stream().to(
    "letters", value=int
)
words.group_by_key().windowed_by(TimeWindows(timedelta(minutes=1))).count(store="by-minute")
words.group_by_key().windowed_by(SessionWindows(timedelta(seconds=30))).count(store="by-session")
words.group_by_key().reduce(lambda old, new: new, store=Materialized("recent", ttl=timedelta(minutes=10)))
(
    words.group_by_key()
    .windowed_by(TimeWindows(timedelta(minutes=1), grace=timedelta(minutes=1)))
    .count(store="final")
    .suppress(Suppressed.until_window_closes())
)
topology = builder.build()
