"""Topologies of tables whose texts are in `describe/`: rows, groups, joins of tables, streams as tables."""

from __future__ import annotations

from typing import Any

from describe_cases import always, both, dsl, empty, folded, pair, same

from headrace import Materialized, StreamsBuilder, ValueTransformer, key_value_store


def second(key: Any, value: Any) -> Any:
    return value


@dsl
def table_source(builder: StreamsBuilder) -> None:
    builder.table("in", store="st").filter(always).to_stream().to("out")
    builder.table("other").map_values(same, store="mv").to_stream().to("out2")


@dsl
def table_group_by(builder: StreamsBuilder) -> None:
    t = builder.table("in")
    t.group_by(pair).count().to_stream().to("a")
    t.group_by(pair, name="grp").reduce(both, both, store="rs").to_stream().to("b")
    t.group_by(pair).aggregate(empty, folded, folded, name="agn", store="ags").to_stream().to("c")


@dsl
def table_group_by_shared(builder: StreamsBuilder) -> None:
    grouped = builder.table("in").filter(always).group_by(pair, name="grp")
    grouped.count().to_stream().to("a")
    grouped.reduce(both, both).to_stream().to("b")
    grouped.count(name="again", store="again-store").to_stream().to("c")


@dsl
def table_values(builder: StreamsBuilder) -> None:
    filtered = builder.table("in").filter(always, store=Materialized(key=str, value=str))
    filtered.filter_not(always, name="not", store="fs").to_stream().to("a")
    mapped = filtered.map_values(same, store=Materialized(key=str, value=str)).filter(always)
    mapped.map_values(second, with_key=True, name="mapped").to_stream().to("b")
    builder.stream("s").join(filtered.map_values(same), join=both).to("c")


@dsl
def table_transform_values(builder: StreamsBuilder) -> None:
    builder.add_state_store(key_value_store("own", value=str))
    t = builder.table("in")
    t.transform_values(ValueTransformer, stores=["own"]).to_stream().to("a")
    t.transform_values(ValueTransformer, stores=["own"], store="ts", name="named").to_stream().to("b")
    t.transform_values(ValueTransformer, store=Materialized(key=str, value=str)).to_stream().to("c")


@dsl
def to_table(builder: StreamsBuilder) -> None:
    s = builder.stream("in")
    s.to_table().to_stream().to("a")
    s.to_table(store="st").filter(always).to_stream().to("b")
    s.to_table(name="named", store="nt").to_stream().to("c")
    s.select_key(second).to_table().group_by(pair).count().to_stream().to("d")
    s.select_key(second).to_table(name="rekeyed").to_stream().to("e")
    s.join(s.to_table(), join=both).to("f")


@dsl
def table_table_joins(builder: StreamsBuilder) -> None:
    a, b = builder.table("a"), builder.table("b", store="bs")
    a.join(b, join=both).to_stream().to("i")
    a.left_join(b, join=both, name="tlj").to_stream().to("l")
    a.outer_join(b, join=both, name="toj", store="os").to_stream().to("o")
    a.join(b, join=both, store="is").filter(always).map_values(same, name="mv", store="mvs").to_stream().to(
        "x"
    )


@dsl
def table_join_chains(builder: StreamsBuilder) -> None:
    a, b, c = builder.table("a"), builder.table("b"), builder.table("c")
    ab = a.outer_join(b, join=both)
    ab.left_join(c.filter(always), join=both, store=Materialized(key=str, value=str)).to_stream().to("one")
    mapped = ab.map_values(same)
    mapped.join(builder.stream("d").group_by_key().reduce(both), join=both).group_by(pair).count()
    a.join(a, join=both).to_stream().to("self")
