"""The topologies whose texts are in `conformance/describe`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from headrace import Processor, StreamsBuilder, Topology, key_value_store

CASES: dict[str, Callable[[], Topology]] = {}


def dsl(build: Callable[[StreamsBuilder], object]) -> Callable[[StreamsBuilder], object]:
    def run() -> Topology:
        builder = StreamsBuilder()
        build(builder)
        return builder.build()

    CASES[build.__name__] = run
    return build


def always(key: Any, value: Any) -> Any:
    return True


def pair(key: Any, value: Any) -> Any:
    return key, value


def same(value: Any) -> Any:
    return value


def both(left: Any, right: Any) -> Any:
    return left


def folded(key: Any, value: Any, so_far: Any) -> Any:
    return so_far


def empty() -> Any:
    return ""


@dsl
def stateless_generated(builder: StreamsBuilder) -> None:
    s = builder.stream("in")
    (
        s.filter(always)
        .filter_not(always)
        .map_values(same)
        .map(pair)
        .flat_map(pair)
        .flat_map_values(same)
        .select_key(always)
        .peek(always)
        .to("out")
    )
    s.foreach(always)
    s.print()


@dsl
def stateless_named(builder: StreamsBuilder) -> None:
    (
        builder.stream("in", name="the-source")
        .filter(always, name="the-filter")
        .map_values(same, name="the-values")
        .map(pair, name="the-map")
        .select_key(always)
        .peek(always, name="the-peek")
        .to("out", name="the-sink")
    )


@dsl
def split_generated(builder: StreamsBuilder) -> None:
    branches = builder.stream("in").split().branch(always).branch(always).default_branch()
    default, first, second = (branches[name] for name in sorted(branches))
    first.to("o1")
    second.to("o2")
    default.to("o0")


@dsl
def count_generated(builder: StreamsBuilder) -> None:
    builder.stream("in").group_by_key().count().to_stream().to("out")


@dsl
def count_named(builder: StreamsBuilder) -> None:
    counts = builder.stream("in").group_by_key(name="grp").count(name="cnt", store="store")
    counts.to_stream(name="ts").to("out")


@dsl
def group_by_generated(builder: StreamsBuilder) -> None:
    s = builder.stream("in")
    s.group_by(always).reduce(both).to_stream().to("out")
    s.group_by(always).aggregate(empty, folded, store="st").to_stream().to("out2")


@dsl
def global_table_joins(builder: StreamsBuilder) -> None:
    g, h = builder.global_table("g"), builder.global_table("h", store="hs")
    s = builder.stream("s")
    s.join(g, on=always, join=both).to("i")
    s.left_join(h, on=always, join=both, name="glj").to("l")


@dsl
def repartition_operator(builder: StreamsBuilder) -> None:
    s = builder.stream("in")
    s.repartition().to("a")
    s.repartition(name="rp").to("b")
    rekeyed = s.select_key(always).repartition(name="rp2", partitions=3)
    rekeyed.group_by_key().count().to_stream().to("c")


class Extractor:
    def __call__(self, key: Any, value: Any, metadata: Any) -> str:
        return "dyn"

    def __str__(self) -> str:
        return "EXTRACTOR"


def processor_api() -> Topology:
    topology = Topology()
    topology.add_source("s1", ["in1", "in2"]).add_source("s2", re.compile("p-.*"))
    topology.add_processor("p1", Processor, "s1").add_processor("p2", Processor, ["p1", "s2"])
    topology.add_state_store(key_value_store("kv", value=str), ["p1", "p2"])
    topology.add_sink("k1", "out", ["p1", "p2"]).add_sink("k2", Extractor(), "p2")
    topology.add_source("lone", "lone-in").add_sink("lone-sink", "lone-out", "lone")
    return topology.add_global_store(
        key_value_store("gs", value=str, logging=False),
        "gtopic",
        source="gsrc",
        processor="gproc",
        supplier=Processor,
        key=str,
        value=str,
    )


CASES["processor_api"] = processor_api
