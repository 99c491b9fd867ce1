"""`describe()` under every setting of `topology.optimization`: to the letter what Kafka Streams says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import JoinWindows, Processor, StreamsBuilder

TEXTS = Path(__file__).parents[2] / "conformance" / "describe"
SETTINGS = {
    "none": "none",
    "all": "all",
    "reuse": "reuse.ktable.source.topics",
    "merge": "merge.repartition.topics",
    "self": "single.store.self.join",
}
WINDOWS = JoinWindows(timedelta(milliseconds=50))


def always(key: Any, value: Any) -> Any:
    return True


def same(value: Any) -> Any:
    return value


def left(one: Any, other: Any) -> Any:
    return one


def folded(key: Any, value: Any, so_far: Any) -> Any:
    return so_far


def two_aggregations_after_map(builder: StreamsBuilder) -> None:
    mapped = builder.stream("in").map(always)
    mapped.group_by_key().count().to_stream().to("o1")
    mapped.group_by_key().count(store="second").to_stream().to("o2")
    mapped.filter(always).group_by_key().reduce(left).to_stream().to("o3")


def table_source(builder: StreamsBuilder) -> None:
    builder.table("in", store="st").filter(always).to_stream().to("out")
    builder.table("other").map_values(same, store="mv").to_stream().to("out2")


def self_joins(builder: StreamsBuilder) -> None:
    stream = builder.stream("in")
    stream.join(stream, join=left, windows=WINDOWS).to("a")
    stream.left_join(stream, join=left, windows=WINDOWS, store="lj", name="named").to("b")
    stream.outer_join(builder.stream("in"), join=left, windows=WINDOWS).to("c")
    rekeyed = stream.select_key(always)
    rekeyed.join(rekeyed, join=left, windows=WINDOWS).to("d")
    rekeyed.join(rekeyed.filter(always), join=left, windows=WINDOWS).to("e")
    rekeyed.group_by_key().count().to_stream().to("f")


def merged_repartitions(builder: StreamsBuilder) -> None:
    table = builder.table("t")
    mapped = builder.stream("in").map(always)
    mapped.group_by_key().count().to_stream().to("a")
    mapped.filter(always).peek(always).group_by_key(name="grp").reduce(left).to_stream().to("b")
    mapped.map_values(same).group_by_key().count(store="after-values").to_stream().to("c")
    mapped.process_values(Processor).group_by_key().count(store="after-processor").to_stream().to("d")
    mapped.join(table, join=left).to("e")
    other = builder.stream("other").select_key(always)
    mapped.left_join(other, join=left, windows=WINDOWS, store="sj", name="join").to("f")
    mapped.to_table(name="tab", store="tabs").to_stream().to("g")
    mapped.repartition(name="mine").group_by_key().count().to_stream().to("h")
    mapped.flat_map_values(same).to("i")
    table.group_by(always).count().to_stream().to("l")


def merged_behind_merges(builder: StreamsBuilder) -> None:
    one, two, three = (builder.stream(topic) for topic in ("one", "two", "three"))
    merged = one.select_key(always).merge(two.map(always))
    merged.group_by_key().count().to_stream().to("a")
    merged.filter(always).to_table().to_stream().to("b")
    rekeyed = three.select_key(always)
    mixed = rekeyed.merge(three)
    mixed.group_by_key(name="x").count().to_stream().to("c")
    rekeyed.group_by_key().count(store="k").to_stream().to("d")
    two.group_by(always).count().to_stream().to("e")
    cogrouped = (
        two.group_by(always, name="g2").cogroup(folded).cogroup(three.group_by(always, name="g3"), folded)
    )
    cogrouped.aggregate(str, store="co").to_stream().to("f")


TOPOLOGIES: dict[str, Callable[[StreamsBuilder], None]] = {
    build.__name__: build
    for build in (
        two_aggregations_after_map,
        table_source,
        self_joins,
        merged_repartitions,
        merged_behind_merges,
    )
}


def recorded() -> list[str]:
    return sorted(path.stem for path in TEXTS.glob("*_opt_*.txt"))


def described(text: str) -> str:
    name, _, setting = text.rpartition("_opt_")
    builder = StreamsBuilder()
    TOPOLOGIES[name](builder)
    return str(builder.build(optimization=SETTINGS[setting]).describe())


@pytest.mark.parametrize("text", recorded())
def test_the_text_equals_kafka_streams(text: str) -> None:
    assert described(text) == (TEXTS / f"{text}.txt").read_text()


def test_every_topology_is_recorded_and_rewritten() -> None:
    assert {text.rpartition("_opt_")[0] for text in recorded()} == TOPOLOGIES.keys()
    for name in TOPOLOGIES:
        assert described(f"{name}_opt_none") != described(f"{name}_opt_all") or name == "table_source"
