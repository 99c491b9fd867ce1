"""Topologies whose texts are in `describe/`: stream-stream joins, sliding windows, cogroups, final results."""

from __future__ import annotations

from datetime import timedelta

from describe_cases import always, both, dsl, empty, folded, pair

from headrace import (
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    TimeWindows,
)

WITHIN = JoinWindows(timedelta(milliseconds=50))
TEN = timedelta(milliseconds=10)
TUMBLING, SLIDING, SESSIONS = TimeWindows(TEN), SlidingWindows(TEN), SessionWindows(TEN)


@dsl
def stream_stream_joins_generated(builder: StreamsBuilder) -> None:
    left, right = builder.stream("l"), builder.stream("r")
    left.join(right, windows=WITHIN, join=both).to("i")
    left.left_join(right, windows=WITHIN, join=both).to("lj")
    left.outer_join(right, windows=WITHIN, join=both).to("oj")


@dsl
def stream_stream_joins_named(builder: StreamsBuilder) -> None:
    left, right = builder.stream("l"), builder.stream("r")
    left.join(right, windows=WITHIN, join=both, name="inner").to("i")
    left.left_join(right, windows=WITHIN, join=both, name="left", store="ls").to("lj")
    left.outer_join(right, windows=WITHIN, join=both, name="outer", store="os").to("oj")
    left.join(right, windows=WITHIN, join=both, store="only").to("s")


@dsl
def stream_stream_joins_rekeyed(builder: StreamsBuilder) -> None:
    left, right = builder.stream("l").select_key(always), builder.stream("r").map(pair)
    left.join(right, windows=WITHIN, join=both).to("i")
    left.left_join(right, windows=WITHIN, join=both).to("lj")
    left.outer_join(right, windows=WITHIN, join=both, name="outer").to("oj")
    half = left.join(builder.stream("plain"), windows=WITHIN, join=both, name="half")
    half.group_by_key().count().to_stream().to("n")


@dsl
def stream_stream_self_joins(builder: StreamsBuilder) -> None:
    stream = builder.stream("s")
    stream.join(stream, windows=WITHIN, join=both).to("i")
    stream.outer_join(builder.stream("s"), windows=WITHIN, join=both).to("oj")
    moved = stream.select_key(always)
    moved.join(moved, windows=WITHIN, join=both).to("m")
    moved.left_join(moved, windows=WITHIN, join=both, name="own").to("ml")


@dsl
def stream_stream_join_chains(builder: StreamsBuilder) -> None:
    x, y, z = (builder.stream(topic) for topic in "xyz")
    table = builder.table("t")
    chain = x.join(y, windows=WITHIN, join=both).left_join(z, windows=WITHIN, join=both)
    chain.join(table, join=both).group_by(always).count().to_stream().to("o1")
    moved = x.join(y, windows=WITHIN, join=both).select_key(always)
    moved.outer_join(z, windows=WITHIN, join=both).to("o2")


@dsl
def sliding(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in").group_by_key()
    grouped.windowed_by(SLIDING).count().to_stream().to("o1")
    grouped.windowed_by(SLIDING).reduce(both, store="red").to_stream().to("o2")
    grouped.windowed_by(SLIDING).aggregate(empty, folded, name="agg", store="aggs").to_stream().to("o3")
    builder.stream("by").group_by(always).windowed_by(SLIDING).count().to_stream().to("o4")


@dsl
def emit_final(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in").group_by_key()
    final = EmitStrategy.ON_WINDOW_CLOSE
    grouped.windowed_by(TUMBLING).emit_strategy(final).count().to_stream().to("o1")
    grouped.windowed_by(SLIDING).emit_strategy(final).reduce(both, store="red").to_stream().to("o2")
    grouped.windowed_by(SESSIONS).emit_strategy(final).count(name="cnt").to_stream().to("o3")


@dsl
def cogroup_generated(builder: StreamsBuilder) -> None:
    a, b = builder.stream("a").group_by_key(), builder.stream("b").group_by(always)
    cogrouped = a.cogroup(folded).cogroup(b, folded)
    cogrouped.aggregate(empty).to_stream().to("o1")
    cogrouped.windowed_by(TUMBLING).aggregate(empty)


@dsl
def cogroup_named(builder: StreamsBuilder) -> None:
    a = builder.stream("a").group_by_key(name="ga")
    b = builder.stream("b").group_by(always, name="gb")
    c = builder.stream("c").select_key(always).group_by_key()
    cogrouped = a.cogroup(folded).cogroup(b, folded).cogroup(c, folded)
    cogrouped.aggregate(empty, name="all", store="totals").to_stream().to("o1")


@dsl
def cogroup_windowed(builder: StreamsBuilder) -> None:
    a, b = builder.stream("a").group_by_key(), builder.stream("b").group_by(always)
    cogrouped = a.cogroup(folded).cogroup(b, folded)
    cogrouped.windowed_by(SESSIONS).aggregate(empty, folded).to_stream().to("o1")
    cogrouped.windowed_by(SLIDING).aggregate(empty, name="slide", store="slides").to_stream().to("o2")
    cogrouped.windowed_by(TUMBLING).aggregate(empty, name="tumble").to_stream().to("o3")
    cogrouped.aggregate(empty, store="plain").to_stream().to("o4")


@dsl
def cogroup_once(builder: StreamsBuilder) -> None:
    builder.stream("a").group_by(always).cogroup(folded).aggregate(empty).to_stream().to("o1")
    b = builder.stream("b").group_by_key()
    b.cogroup(folded).cogroup(b, folded).aggregate(empty, store="twice").to_stream().to("o2")
