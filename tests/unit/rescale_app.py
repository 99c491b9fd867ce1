"""An application with a count, windows that are sent when they are closed, and a join by foreign key."""

from __future__ import annotations

from datetime import timedelta

from headrace import EmitStrategy, StreamsBuilder, TimeWindows

builder = StreamsBuilder()
words = builder.stream("in", value=str)
words.group_by(lambda key, value: value[0]).count(store="letters").to_stream().to("letters", value=int)
windows = TimeWindows(timedelta(milliseconds=100), grace=timedelta(milliseconds=20))
closed = words.group_by_key().windowed_by(windows).emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
closed.count(store="windows").to_stream().to("windows", value=int)
left, right = builder.table("left", value=str, store="left"), builder.table("right", value=str, store="right")
pairs = left.join(right, on=lambda key, value: value[:2], join=lambda one, other: f"{one}+{other}", value=str)
pairs.to_stream().to("pairs")
topology = builder.build()
