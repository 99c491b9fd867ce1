"""Topologies of what goes beyond Kafka Streams, which run on Spark and in the test driver."""

from __future__ import annotations

from headrace import StreamsBuilder, Topology
from tests.spark.topologies import letter, ms


def duplicates() -> Topology:
    """By key, and by an id under the key: what needs no repartition."""
    builder = StreamsBuilder()
    stream = builder.stream("in", value=str)
    stream.deduplicate(within=ms(40), store="by-key").to("by-key")
    stream.deduplicate(within=ms(60), id=letter, per_key=True, grace=ms(20)).to("per-key")
    return builder.build()


def duplicates_by_id() -> Topology:
    """By an id whatever the key, and counted by key behind it."""
    builder = StreamsBuilder()
    once = builder.stream("in", value=str).deduplicate(within=ms(25), id=letter, store="by-id")
    once.to("by-id")
    once.group_by_key().count(store="counts").to_stream().to("counts", value=int)
    return builder.build()
