"""Stateless: everything happens while reading, and records go to other partitions and to several topics."""

from __future__ import annotations

from datetime import timedelta

from headrace import StreamsBuilder

config = {"commit_interval": timedelta(milliseconds=1), "small_batch_records": 50}

builder = StreamsBuilder()
words = builder.stream("in", value=str)
words.filter(lambda key, value: value[0] != "d").map_values(str.upper, value=str).to("loud")
words.flat_map_values(lambda value: [value, value[::-1]], value=str).select_key(
    lambda key, value: value[-1], key=str
).to("mirrored")
branches = (
    words.split(name="by-").branch(lambda key, value: value[0] == "a", name="a").default_branch(name="rest")
)
branches["by-a"].merge(branches["by-rest"].filter_not(lambda key, value: value[0] == "b")).to("merged")
topology = builder.build()
