"""A function that gives another answer each time it is called: what counts is counted once all the same."""

from __future__ import annotations

import random
from datetime import timedelta

from headrace import StreamsBuilder

config = {"commit_interval": timedelta(milliseconds=1), "small_batch_records": 50}

builder = StreamsBuilder()
ids = builder.stream("in", value=str).map_values(lambda value: f"{value}-{random.random()}", value=str)
ids.to("ids")
ids.group_by_key().aggregate(
    lambda: "", lambda key, value, all: f"{all} {value}".strip(), store="seen", value=str
)
topology = builder.build()
