"""The stores that the DSL makes have Kafka Streams' kinds, defaults and names."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace import Materialized, SessionWindows, StreamsBuilder, TimeWindows
from headrace.serdes import TaggedSerde, serde_for
from headrace.topology.nodes import ProcessorNode
from headrace.topology.operators import TableSource
from headrace.topology.stores import StoreSpec

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


def stores(builder: StreamsBuilder) -> dict[str, StoreSpec]:
    return dict(builder.build().stores)


def left(a: Any, b: Any) -> Any:
    return a


def test_aggregates_are_kept_with_timestamps() -> None:
    builder = StreamsBuilder()
    table = builder.stream("s", key=int, value=str).group_by_key().count(store="counts")
    assert stores(builder) == {
        "counts": StoreSpec("counts", "timestamped_key_value", serde_for(int), serde_for(int), caching=None)
    }
    assert table.queryable_store_name == "counts"


def test_a_store_without_a_name_is_generated_and_not_queryable() -> None:
    builder = StreamsBuilder()
    table = builder.stream("s", value=str).group_by_key().count()
    assert list(stores(builder)) == ["KSTREAM-AGGREGATE-STATE-STORE-0000000001"]
    assert table.queryable_store_name is None


def test_windows_are_kept_for_their_size_and_grace() -> None:
    builder = StreamsBuilder()
    windows = TimeWindows(MINUTE, advance=10 * SECOND, grace=5 * SECOND)
    builder.stream("s", value=str).group_by_key().windowed_by(windows).count(store="w")
    spec = stores(builder)["w"]
    assert (spec.kind, spec.retention_ms, spec.window_size_ms) == ("timestamped_window", 65_000, 60_000)
    assert not spec.retain_duplicates


def test_sessions_are_kept_for_their_gap_and_grace() -> None:
    builder = StreamsBuilder()
    windows = SessionWindows(MINUTE, grace=5 * SECOND)
    builder.stream("s", value=str).group_by_key().windowed_by(windows).count(store="w")
    spec = stores(builder)["w"]
    assert (spec.kind, spec.retention_ms, spec.window_size_ms) == ("session", 65_000, 0)


def test_materialized_sets_everything() -> None:
    builder = StreamsBuilder()
    settings: Materialized[str, float] = Materialized(
        "w",
        key=str,
        value=float,
        persistent=False,
        logging=False,
        log_config={"b": "2", "a": "1"},
        caching=True,
        retention=2 * MINUTE,
    )
    builder.stream("s").group_by_key().windowed_by(TimeWindows(MINUTE)).aggregate(
        lambda: 0.0, lambda key, value, total: total, store=settings
    )
    assert stores(builder)["w"] == StoreSpec(
        "w",
        "timestamped_window",
        serde_for(str),
        serde_for(float),
        persistent=False,
        logging=False,
        log_config=(("a", "1"), ("b", "2")),
        caching=True,
        retention_ms=120_000,
        window_size_ms=60_000,
    )


def test_an_aggregate_of_no_known_type_carries_its_name() -> None:
    builder = StreamsBuilder()
    builder.stream("s", value=str).group_by_key().aggregate(lambda: 0, lambda k, v, a: a, store="a")
    assert isinstance(stores(builder)["a"].value, TaggedSerde)


def operator_of(builder: StreamsBuilder, name: str) -> object:
    node = builder.build().nodes[name]
    assert isinstance(node, ProcessorNode)
    return node.operator


def test_a_table_that_nobody_reads_keeps_nothing() -> None:
    builder = StreamsBuilder()
    builder.table("t", value=str, name="table").to_stream().to("o")
    assert stores(builder) == {}
    assert operator_of(builder, "table") == TableSource(None)


def test_a_table_with_a_named_store_keeps_its_rows() -> None:
    builder = StreamsBuilder()
    builder.table("t", value=str, name="table", store="rows")
    assert stores(builder)["rows"].kind == "timestamped_key_value"
    assert operator_of(builder, "table") == TableSource("rows")


def test_a_table_that_is_joined_keeps_its_rows() -> None:
    builder = StreamsBuilder()
    table = builder.table("t", value=str, name="table")
    builder.stream("s", value=str).join(table, join=left)
    assert list(stores(builder)) == ["t-STATE-STORE-0000000000"]
    assert table.queryable_store_name is None
    assert operator_of(builder, "table") == TableSource("t-STATE-STORE-0000000000")


def test_a_global_table_always_keeps_its_rows_without_a_changelog() -> None:
    builder = StreamsBuilder()
    table = builder.global_table("g", value=str, store=Materialized(log_config={"a": "b"}))
    (node,) = builder.build().global_stores
    assert (node.store.name, node.store.logging, node.store.log_config) == (
        "g-STATE-STORE-0000000000",
        False,
        (),
    )
    assert node.store.kind == "timestamped_key_value"
    assert table.queryable_store_name is None
    assert stores(builder) == {}
