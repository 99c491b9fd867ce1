"""Topologies of foreign-key joins whose texts are in `describe/`."""

from __future__ import annotations

from typing import Any

from describe_cases import always, both, dsl, pair, same

from headrace import StreamsBuilder


def key(key: Any, value: Any) -> Any:
    return value


@dsl
def foreign_key_joins(builder: StreamsBuilder) -> None:
    a, b = builder.table("a"), builder.table("b")
    a.join(b, on=key, join=both).to_stream().to("i")
    a.left_join(b, on=key, join=both, name="fkn", store="fks").to_stream().to("l")


@dsl
def foreign_key_chains(builder: StreamsBuilder) -> None:
    a, b, c = builder.table("a"), builder.table("b", store="bs"), builder.table("c")
    ab = a.join(b, on=key, join=both)
    ab.left_join(c, on=key, join=both, store="abc").to_stream().to("abc")
    mapped = ab.filter(always).map_values(same)
    mapped.join(c, on=key, join=both, name="mapped").to_stream().to("m")
    c.join(ab, on=key, join=both).to_stream().to("back")


@dsl
def foreign_key_self(builder: StreamsBuilder) -> None:
    a = builder.table("a")
    a.join(a, on=key, join=both).to_stream().to("self")
    a.left_join(a.filter(always), on=key, join=both, name="again").to_stream().to("again")


@dsl
def foreign_key_result(builder: StreamsBuilder) -> None:
    a, b = builder.table("a"), builder.table("b")
    joined = a.left_join(b, on=key, join=both)
    joined.group_by(pair).count().to_stream().to("counts")
    joined.join(a, join=both).to_stream().to("joined")
    joined.filter(always, store="fs").to_stream().to("filtered")
    builder.stream("s").join(joined, join=both).to("looked-up")
    joined.outer_join(a.join(b, on=key, join=both, store="js"), join=both, name="two").to_stream().to("two")


@dsl
def foreign_key_rekeyed(builder: StreamsBuilder) -> None:
    a = builder.stream("a").select_key(key).to_table()
    b = builder.stream("b").group_by(key).reduce(both)
    a.join(b, on=key, join=both, name="one").to_stream().to("one")
    b.left_join(a, on=key, join=both, store="two").to_stream().to("two")
    c = b.group_by(pair, name="g").reduce(both, both)
    c.left_join(a.map_values(same), on=key, join=both).to_stream().to("three")


@dsl
def foreign_key_partitioners(builder: StreamsBuilder) -> None:
    def first(topic: str, key: Any, value: Any, partitions: int) -> int:
        return 0

    a, b = builder.table("a"), builder.table("b")
    a.join(b, on=key, join=both, partitioner=first, other_partitioner=first).to_stream().to("i")
    named = a.left_join(b, on=key, join=both, partitioner=first, other_partitioner=first, name="fkn")
    named.to_stream().to("l")


@dsl
def foreign_key_of_joins(builder: StreamsBuilder) -> None:
    a, b, c = builder.table("a"), builder.table("b"), builder.table("c")
    ab, bc = a.join(b, join=both), b.map_values(same).left_join(c, join=both, store="bc")
    ab.join(bc, on=key, join=both).to_stream().to("i")
    bc.left_join(ab, on=key, join=both).to_stream(name="named").to("l")
    x = ab.join(c, on=key, join=both, name="x")
    x.join(a, on=key, join=both, name="y").to_stream().to("xy")
