"""Versioned tables as users meet them: what is refused, what is inherited, what the driver shows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    JoinWindows,
    Materialized,
    Processor,
    Record,
    SessionWindows,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
    versioned_key_value_store,
)
from headrace.app.topics import changelog_config
from headrace.errors import InvalidArgumentError, StoreError
from headrace.state import VersionedRecord
from headrace.testing import TopologyTestDriver
from headrace.topology import compare
from headrace.topology.operators import TableFilter, TableGroupBy, TableTableJoin

SETTINGS = StreamsConfig(application_id="app")


MINUTE = timedelta(minutes=1)
HISTORY: Materialized[str, Any] = Materialized("history", history_retention=MINUTE)


def versioned_nodes(topology: Topology) -> set[str]:
    """The kinds of operators that were told that they are behind a versioned table."""
    operators = [getattr(node, "operator", None) for node in topology.nodes.values()]
    return {
        type(operator).__name__
        for operator in operators
        if isinstance(operator, TableFilter | TableGroupBy | TableTableJoin) and operator.versioned
    }


def positive(key: str, value: int) -> bool:
    return value > 0


def by_rest(key: str, value: int) -> tuple[str, int]:
    return str(value % 2), value


@pytest.mark.parametrize(
    ("between", "told"),
    [
        (lambda table: table, True),
        (lambda table: table.map_values(abs, value=int), True),
        (lambda table: table.filter(positive).map_values(abs, value=int), True),
        (lambda table: table.map_values(abs, store=Materialized(value=int)), False),
        (lambda table: table.map_values(abs, value=int, store="plain"), False),
        (
            lambda table: table.map_values(abs, value=int, store=Materialized("m", history_retention=MINUTE)),
            True,
        ),
        (lambda table: table.to_stream().to_table(value=int), False),
        (lambda table: table.join(table, join=max, value=int), False),
        (
            lambda table: table.join(
                table, join=max, value=int, store=Materialized("j", history_retention=MINUTE)
            ),
            True,
        ),
    ],
)
def test_a_group_by_knows_whether_its_table_is_versioned(between: Callable[[Any], Any], told: bool) -> None:
    builder = StreamsBuilder()
    table = builder.table("in", value=int, store=HISTORY)
    between(table).group_by(by_rest, key=str, value=int).count(store="n")
    assert ("TableGroupBy" in versioned_nodes(builder.build())) is told


def test_aggregates_and_cogroups_can_be_versioned() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=int).group_by_key()
    tables: list[Any] = [
        grouped.count(store=Materialized("c", history_retention=MINUTE)),
        grouped.reduce(max, store=Materialized("r", history_retention=MINUTE)),
        grouped.cogroup(lambda k, v, a: a + v, value=int).aggregate(
            int, store=Materialized("g", history_retention=MINUTE)
        ),
        builder.table("t", value=int, store="t")
        .group_by(by_rest, key=str, value=int)
        .count(store=Materialized("tc", history_retention=MINUTE)),
    ]
    for number, table in enumerate(tables):
        table.filter(positive, name=f"behind-{number}")
    nodes: Any = builder.build().nodes
    assert [nodes[f"behind-{number}"].operator.versioned for number in range(len(tables))] == [True] * 4


def test_the_sides_of_a_join_are_told_each_for_itself() -> None:
    builder = StreamsBuilder()
    left, right = builder.table("a", value=int, store=HISTORY), builder.table("b", value=int)
    left.join(right, join=max, value=int, name="j")
    nodes: Any = builder.build().nodes
    assert nodes["j-join-this"].operator.versioned
    assert not nodes["j-join-other"].operator.versioned


def refused(build: Callable[[StreamsBuilder], object]) -> str:
    with pytest.raises(InvalidArgumentError) as caught:
        build(StreamsBuilder())
    assert caught.value.origin is not None
    assert caught.value.origin.file.endswith("test_versioned_tables.py")
    return caught.value.message


def test_what_cannot_be_versioned_is_refused_while_building() -> None:
    windows, sessions, joins = TimeWindows(MINUTE), SessionWindows(MINUTE), JoinWindows(MINUTE)
    assert "a global table cannot be versioned" in refused(
        lambda builder: builder.global_table("g", value=int, store=HISTORY)
    )
    for windowed in (windows, sessions):
        assert "windows and sessions are not versioned" in refused(
            lambda builder, windowed=windowed: (
                builder.stream("in", value=int).group_by_key().windowed_by(windowed).count(store=HISTORY)
            )
        )
    assert "`history_retention` is not for joins" in refused(
        lambda builder: builder.stream("a", value=int).join(
            builder.stream("b", value=int), windows=joins, join=max, store=HISTORY
        )
    )
    assert "a versioned table needs a store with a name" in refused(
        lambda builder: builder.table("t", value=int, store=Materialized(history_retention=MINUTE))
    )
    assert "set `history_retention`, too" in refused(
        lambda builder: builder.table("t", value=int, store=Materialized("t", segment_interval=MINUTE))
    )
    assert "`history_retention` must be zero or more" in refused(
        lambda builder: builder.table("t", store=Materialized("t", history_retention=timedelta(-1)))
    )
    assert "`segment_interval` must be at least one millisecond" in refused(
        lambda builder: builder.table(
            "t", store=Materialized("t", history_retention=MINUTE, segment_interval=timedelta(0))
        )
    )
    assert "leave one of them out" in refused(
        lambda builder: builder.table(
            "t", store=Materialized("t", history_retention=MINUTE, retention=MINUTE)
        )
    )
    assert "takes a timedelta, got 60" in refused(
        lambda builder: builder.table("t", store=Materialized("t", history_retention=60))  # type: ignore[arg-type]
    )


def test_caching_is_not_done_for_versioned_stores() -> None:
    builder = StreamsBuilder()
    builder.table("t", value=int, store=Materialized("t", history_retention=MINUTE, caching=True))
    assert not builder.build().stores["t"].caching


def test_the_changelog_is_compacted_no_sooner_than_a_day_after_the_history() -> None:
    spec = versioned_key_value_store("s", history_retention=MINUTE)
    config = changelog_config(spec, SETTINGS)
    assert config["cleanup.policy"] == "compact"
    assert config["min.compaction.lag.ms"] == str(60_000 + 86_400_000)
    own = versioned_key_value_store("s", history_retention=MINUTE, log_config={"min.compaction.lag.ms": "5"})
    assert changelog_config(own, SETTINGS)["min.compaction.lag.ms"] == "5"


class History(Processor[str, int, str, str]):
    """Puts what it gets, and tells what was valid ten milliseconds before."""

    def process(self, record: Record[str, int]) -> None:
        store = self.context.get_state_store("prices")
        valid_to = store.put(record.key, record.value, record.timestamp)
        before = store.get(record.key, record.timestamp - 10)
        self.context.forward(record.with_value(f"{valid_to} {None if before is None else before.value}"))


def test_a_processor_asks_as_of_a_time() -> None:
    builder = StreamsBuilder()
    prices = versioned_key_value_store("prices", history_retention=MINUTE, key=str, value=int)
    builder.stream("in", value=int).process(History, stores=[prices], value=str).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        for value, time in ((1, 100), (2, 120), (3, 110), (None, 130)):
            driver.input("in").pipe("a", value, timestamp=time)
        assert driver.output("out").read_values() == ["-1 None", "-1 1", "120 1", "-1 2"]
        store = driver.get_versioned_key_value_store("prices")
        assert store.get("a") is None
        assert store.get("a", 115) == VersionedRecord(3, 110, 120)
        assert store.delete("a", 105) == VersionedRecord(1, 100, 110)
        assert store.get("a", 109) is None
        with pytest.raises(StoreError, match="is a `VersionedKeyValueStore`, not a `KeyValueStore`"):
            driver.get_key_value_store("prices")


def test_every_put_is_in_the_changelog_with_its_own_time() -> None:
    builder = StreamsBuilder()
    builder.table("in", value=str, store=HISTORY)
    with TopologyTestDriver(builder.build()) as driver:
        for value, time in (("x", 100_000), ("y", 50_000), ("late", 1), (None, 100_001)):
            driver.input("in").pipe("a", value, timestamp=time)
        log = driver.output("topology-test-driver-history-changelog", key=str, value=str)
        assert [(r.value, r.timestamp) for r in log.read_records()] == [
            ("x", 100_000), ("y", 50_000), ("late", 1), (None, 100_001),
        ]  # fmt: skip


class Keep(Processor[str, int, None, None]):
    def process(self, record: Record[str, int]) -> None:
        self.context.get_state_store("prices").put(record.key, record.value, record.timestamp)


class Pay(Processor[str, int, str, int]):
    def process(self, record: Record[str, int]) -> None:
        prices = self.context.get_state_store("prices")
        with pytest.raises(StoreError, match="`put` is refused"):
            prices.put("a", 0, 0)
        price = prices.get(record.key, record.timestamp)
        self.context.forward(record.with_value(record.value * price.value))


def test_a_global_store_of_a_processor_may_be_versioned() -> None:
    prices = versioned_key_value_store("prices", history_retention=MINUTE, key=str, value=int, logging=False)
    topology = Topology()
    topology.add_global_store(
        prices, "prices", source="prices-in", processor="keep", supplier=Keep, key=str, value=int
    )
    topology.add_source("in", "orders", key=str, value=int)
    topology.add_processor("pay", Pay, "in")
    topology.add_sink("out", "bills", "pay", key=str, value=int)
    with TopologyTestDriver(topology) as driver:
        for price, time in ((3, 100), (5, 200)):
            driver.input("prices").pipe("a", price, timestamp=time)
        for time in (150, 250):
            driver.input("orders").pipe("a", 10, timestamp=time)
        assert driver.output("bills").read_values() == [30, 50]


def test_a_longer_history_needs_a_changelog_that_is_compacted_later() -> None:
    def table(minutes: int) -> Topology:
        builder = StreamsBuilder()
        builder.table("t", value=int, store=Materialized("t", history_retention=timedelta(minutes=minutes)))
        return builder.build()

    changes = [change for change in compare(table(1), table(2)).changes if change.subject == "store `t`"]
    assert "set `min.compaction.lag.ms` of `<application-id>-t-changelog`" in str(changes[0].fix)
