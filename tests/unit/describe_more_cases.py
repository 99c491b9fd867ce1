"""More topologies whose texts are in `describe/`: windows, joins, shared repartitions, names everywhere."""

from __future__ import annotations

import re
from datetime import timedelta

from describe_cases import Extractor, always, both, dsl, empty, folded, pair, same

from headrace import Processor, SessionWindows, StreamsBuilder, TimeWindows, key_value_store

TENTH = timedelta(milliseconds=100)
HUNDREDTH = timedelta(milliseconds=10)


@dsl
def windowed(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in").group_by_key()
    grouped.windowed_by(TimeWindows(TENTH, grace=HUNDREDTH)).count().to_stream().to("o1")
    hops = TimeWindows(TENTH, advance=TENTH / 2)
    grouped.windowed_by(hops).aggregate(empty, folded, store="hops").to_stream(always).to("o2")
    grouped.windowed_by(TimeWindows(TENTH)).reduce(both, name="red", store="rs").to_stream().to("o3")


@dsl
def windowed_group_by(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in").group_by(always)
    grouped.windowed_by(TimeWindows(TENTH)).count(store="counts").to_stream().to("o1")
    grouped.windowed_by(TimeWindows(TENTH)).reduce(both).to_stream().to("o2")


@dsl
def session(builder: StreamsBuilder) -> None:
    sessions = builder.stream("in").group_by_key().windowed_by(SessionWindows(TENTH, grace=HUNDREDTH))
    sessions.count().to_stream().to("o1")
    sessions.count(store="visits")
    sessions.reduce(both).to_stream().to("o2")
    sessions.aggregate(empty, folded, folded, name="agg", store="aggs")


@dsl
def stream_table_joins(builder: StreamsBuilder) -> None:
    t = builder.table("t")
    n = builder.table("n", store="ns")
    builder.table("unused").to_stream().to("o0")
    s = builder.stream("s")
    s.join(t, join=both).to("o1")
    s.left_join(t, join=both, name="lj").to("o2")
    s.left_join(n, join=both).to("o3")


@dsl
def stream_table_joins_rekeyed(builder: StreamsBuilder) -> None:
    t = builder.table("t")
    s = builder.stream("s").select_key(always)
    s.join(t, join=both).to("o1")
    s.left_join(t, join=both).to("o2")
    s.left_join(t, join=both, name="lj").to("o3")
    s.join(builder.stream("c").group_by_key().count(), join=both).to("o4")


@dsl
def fraud_detector(builder: StreamsBuilder) -> None:
    risk = builder.global_table("risk-scores", value=int, store="global-risk-store")
    (
        builder.stream("transactions", value=dict)
        .left_join(risk, on=always, join=both)
        .filter(always)
        .group_by(always)
        .windowed_by(SessionWindows(gap=timedelta(minutes=5), grace=timedelta(seconds=30)))
        .count(store="session-count-store")
        .to_stream()
        .filter(always)
        .map(pair)
        .to("fraud-alerts")
    )


@dsl
def word_count(builder: StreamsBuilder) -> None:
    words = builder.stream("text-input", value=str).flat_map_values(same)
    words.group_by(always).count(store="word-count-store").to_stream().to("wordcount-output")


@dsl
def word_count_select_key(builder: StreamsBuilder) -> None:
    words = builder.stream("text-input", value=str).flat_map_values(same).filter(always).select_key(always)
    counts = words.group_by_key(key=str, value=str).count(store="word-count-store")
    counts.to_stream().to("wordcount-output")


@dsl
def two_aggregations_after_map(builder: StreamsBuilder) -> None:
    mapped = builder.stream("in").map(pair)
    mapped.group_by_key().count().to_stream().to("o1")
    mapped.group_by_key().count(store="second").to_stream().to("o2")
    mapped.filter(always).group_by_key().reduce(both).to_stream().to("o3")


@dsl
def two_aggregations_after_select_key(builder: StreamsBuilder) -> None:
    s = builder.stream("in").select_key(always)
    s.group_by_key().count().to_stream().to("o1")
    s.group_by_key().reduce(both).to_stream().to("o2")
    shared = s.group_by_key(name="shared")
    shared.count().to_stream().to("o3")
    shared.count(store="second").to_stream().to("o4")


@dsl
def merged_sources(builder: StreamsBuilder) -> None:
    a, b = builder.stream("a"), builder.stream("b")
    a.merge(b).group_by_key().count().to_stream().to("o1")
    a.select_key(always).merge(b).group_by_key().count().to_stream().to("o2")
    builder.stream("a").merge(b, name="again").to("o3")


@dsl
def split_with_chains(builder: StreamsBuilder) -> None:
    stream = builder.stream("in")
    branches = (
        stream.split(name="by-")
        .branch(always, chain=lambda one: one.map_values(same), name="mapped")
        .branch(always, chain=lambda one: one.to("consumed"))
        .branch(always, chain=lambda one: None, name="nothing")
        .default_branch(chain=lambda one: one.peek(always).to("rest"), name="others")
    )
    for name in sorted(branches):
        branches[name].to(f"out-{name}")
    stream.print(name="shown")
    stream.print(label="a label", mapper=both)


@dsl
def named_everything(builder: StreamsBuilder) -> None:
    t = builder.table("t", name="table", store="table-store")
    g = builder.global_table("g", name="global", store="global-store")
    filtered = builder.stream("s", name="source").filter(always, name="filter")
    splitting = filtered.filter_not(always, name="not").split(name="split-")
    branches = splitting.branch(always, name="one").default_branch(name="rest")
    (
        branches["split-one"]
        .select_key(always, name="key")
        .left_join(t, join=both, name="table-join")
        .join(g, on=always, join=both, name="global-join")
        .group_by(always, name="grouping")
        .count(name="count", store="counts")
        .to_stream(name="stream")
        .to("o1", name="sink")
    )
    (
        branches["split-rest"]
        .flat_map(pair, name="flat")
        .flat_map_values(same, name="flat-values")
        .peek(always, name="peek")
        .repartition(name="through")
        .foreach(always, name="each")
    )


@dsl
def process_with_stores(builder: StreamsBuilder) -> None:
    builder.add_state_store(key_value_store("shared", value=str))
    builder.stream("a").process(Processor, stores=["shared"]).to("o1")
    builder.stream("b").process_values(Processor, stores=["shared"]).to("o2")
    own = key_value_store("own", value=str)
    processed = builder.stream("c").process(Processor, stores=[own], name="named")
    processed.group_by_key().count().to_stream().to("o3")


@dsl
def patterns_and_extractors(builder: StreamsBuilder) -> None:
    builder.stream(re.compile("in-.*")).to(Extractor())
    builder.stream(re.compile("in-.*")).to("o1")
    builder.stream(["x", "y", "z"]).to("o2")
    builder.stream(["x", "y", "z"]).to("o3")
