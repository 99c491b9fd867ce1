"""An application with a store, a repartition, a topic that it writes and reads, and an output."""

from __future__ import annotations

from headrace import StreamsBuilder

builder = StreamsBuilder()
words = builder.stream("in", value=str)
words.group_by_key().count(store="counts").to_stream().to("out", value=int)
words.to("back")
builder.stream("back", value=str).group_by(lambda key, value: value[0]).count(store="letters").to_stream().to(
    "out", value=int
)
topology = builder.build()
