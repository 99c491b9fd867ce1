"""Tables as a user meets them: stores that can be asked, callbacks that raise, and who is asked for old values."""

from __future__ import annotations

import pytest

from headrace import StreamsBuilder, StreamsConfig, Topology, log_and_continue
from headrace.errors import CallbackError, MissingSerdeError
from headrace.testing import TopologyTestDriver


def test_only_a_store_with_a_name_can_be_asked() -> None:
    table = StreamsBuilder().table("in", value=int)
    assert table.filter(lambda key, value: value > 1).queryable_store_name is None
    assert table.map_values(str, store="texts").queryable_store_name == "texts"
    assert table.join(table, join=max).queryable_store_name is None
    assert table.join(table, join=max, store="both").queryable_store_name == "both"
    assert table.group_by(lambda key, value: (value, key), key=int).count().queryable_store_name is None


def test_stores_have_the_rows() -> None:
    builder = StreamsBuilder()
    table = builder.table("in", value=int)
    table.filter(lambda key, value: value > 10, store="large")
    table.map_values(lambda value: value * 2, value=int, store="doubled")
    with TopologyTestDriver(builder.build()) as driver:
        rows = driver.input("in")
        rows.pipe("a", 11, timestamp=1)
        rows.pipe("b", 12, timestamp=2)
        rows.pipe("a", 3, timestamp=3)
        assert list(driver.store("large").all()) == [("b", 12)]
        assert driver.store("doubled").get("a") == 6


def old_values(topology: Topology) -> set[str]:
    return {name.rstrip("-0123456789") for name in topology.old_values}


def test_a_left_join_asks_its_left_side_only_and_an_outer_join_both() -> None:
    for kind, expected in (("join", 0), ("left_join", 1), ("outer_join", 2)):
        builder = StreamsBuilder()
        left, right = builder.table("left", value=int), builder.table("right", value=int)
        getattr(left, kind)(right, join=lambda a, b: a).to_stream()
        assert len(builder.build().old_values) == expected


def test_a_grouped_join_asks_everything_above_it() -> None:
    builder = StreamsBuilder()
    left, right = builder.table("left", value=int), builder.table("right", value=int)
    joined = left.map_values(abs, value=int).join(right, join=max, value=int)
    joined.group_by(lambda key, value: (value, key), key=int, value=str).count()
    assert old_values(builder.build()) == {
        "KTABLE-SOURCE",
        "KTABLE-MAPVALUES",
        "KTABLE-JOINTHIS",
        "KTABLE-JOINOTHER",
        "KTABLE-MERGE",
    }


def test_a_filter_asks_no_table_to_be_kept() -> None:
    builder = StreamsBuilder()
    builder.table("in", value=int).filter(lambda key, value: value > 1).to_stream().to("out")
    topology = builder.build()
    assert topology.old_values == frozenset()
    assert not [store for sub in topology.sub_topologies() for store in sub.stores]


def divided(left: int, right: int) -> int:
    return left // right


def failing(builder: StreamsBuilder) -> None:
    left, right = builder.table("left", value=int), builder.table("right", value=int)
    left.join(right, join=divided, value=int, name="ratio").to_stream().to("out")


def test_a_joiner_that_raises_is_named_with_its_line() -> None:
    builder = StreamsBuilder()
    failing(builder)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("right").pipe("a", 0)
        with pytest.raises(CallbackError, match="ratio-join-this") as raised:
            driver.input("left").pipe("a", 1)
    assert "test_tables.py" in str(raised.value)


def test_a_change_whose_joiner_raises_can_be_skipped() -> None:
    builder = StreamsBuilder()
    failing(builder)
    config = StreamsConfig(application_id="app", processing_handler=log_and_continue)
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input("right").pipe("a", 0)
        driver.input("left").pipe("a", 1)
        driver.input("right").pipe("a", 1)
        assert driver.output("out", value=int).read_values() == [1]


def test_a_group_mapper_must_return_a_pair() -> None:
    builder = StreamsBuilder()
    builder.table("in", value=str).group_by(lambda key, value: value, key=str, value=str).count()  # type: ignore[arg-type, return-value]
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(CallbackError, match="KTABLE-SELECT"),
    ):
        driver.input("in").pipe("a", "xyz")


def test_a_grouped_table_without_a_serde_is_refused_at_the_start() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to_table(value=str).group_by(lambda key, value: (key, value)).count()
    with pytest.raises(MissingSerdeError, match="`in`"):
        TopologyTestDriver(builder.build())
