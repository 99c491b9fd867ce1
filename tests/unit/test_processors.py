"""Operators, where the recorded cases do not reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headrace.topology.foreign_key as foreign_key
import headrace.topology.operators as operators
from headrace import (
    Materialized,
    Processor,
    Record,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    key_value_store,
    log_and_continue,
)
from headrace.errors import CallbackError, TopologyError
from headrace.origin import NOWHERE
from headrace.processors import build, implemented
from headrace.testing import TopologyTestDriver

SKIPPING = StreamsConfig(application_id="app", default_value=str, processing_handler=log_and_continue)


def test_every_operator_has_a_processor() -> None:
    known = {
        kind
        for module in (operators, foreign_key)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, operators.Operator) and kind is not operators.Operator
    }
    assert implemented() == known


def test_an_unknown_operator_is_refused() -> None:
    class Odd(operators.Operator):
        pass

    class Place:
        name = "here"
        origin = NOWHERE

    with pytest.raises(TopologyError, match="no processor is known for the operator `Odd`"):
        build(Odd(), Place())  # type: ignore[arg-type]


def topology(build_with: Any) -> Topology:
    builder = StreamsBuilder()
    build_with(builder.stream("in", value=str))
    return builder.build()


def test_a_generator_that_raises_half_way_has_given_what_it_gave() -> None:
    def words(line: str) -> Iterator[str]:
        for word in line.split():
            if word == "stop":
                raise ValueError(word)
            yield word

    def pairs(key: str, line: str) -> Iterator[tuple[str, str]]:
        return ((key, word) for word in words(line))

    for build_with in (
        lambda s: s.flat_map_values(words, value=str).to("out"),
        lambda s: s.flat_map(pairs, key=str, value=str).to("out"),
    ):
        with TopologyTestDriver(topology(build_with), SKIPPING) as driver:
            driver.input("in").pipe("k", "one two stop three")
            driver.input("in").pipe("k", "four")
            assert driver.output("out").read_values() == ["one", "two", "four"]


def test_a_failing_child_is_not_blamed_on_the_flat_map_above() -> None:
    def burst(value: str) -> str:
        raise ValueError(value)

    with (
        TopologyTestDriver(
            topology(
                lambda s: s.flat_map_values(str.split, value=str).map_values(burst, name="burst").to("o")
            ),
            StreamsConfig(application_id="app", default_value=str),
        ) as driver,
        pytest.raises(CallbackError) as raised,
    ):
        driver.input("in").pipe("k", "a b")
    assert raised.value.node == "burst"


def test_a_map_must_return_a_pair() -> None:
    with (
        TopologyTestDriver(topology(lambda s: s.map(lambda k, v: 5, key=str, value=str).to("out"))) as driver,
        pytest.raises(CallbackError, match="the function of `map` must return a pair"),
    ):
        driver.input("in").pipe("k", "v")


def test_children_get_a_record_in_the_order_in_which_they_were_added() -> None:
    seen: list[str] = []

    def build_with(stream: Any) -> None:
        for name in ("first", "second", "third"):
            stream.foreach(lambda key, value, name=name: seen.append(name))

    with TopologyTestDriver(topology(build_with)) as driver:
        driver.input("in").pipe("k", "v")
    assert seen == ["first", "second", "third"]


def test_foreach_is_the_end_and_peek_is_not() -> None:
    seen: list[tuple[str, str]] = []
    look: Any = lambda key, value: seen.append((key, value))  # noqa: E731

    def build_with(stream: Any) -> None:
        stream.peek(look).to("out")
        stream.foreach(look)

    with TopologyTestDriver(topology(build_with)) as driver:
        driver.input("in").pipe("k", "v")
        assert driver.output("out").read_values() == ["v"]
    assert seen == [("k", "v"), ("k", "v")]


def test_a_table_that_nothing_looks_into_needs_no_store_but_still_drops_null_keys() -> None:
    builder = StreamsBuilder()
    builder.table("in", value=str).to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("in").pipe(None, "lost")
        driver.input("in").pipe("k", "v")
        driver.input("in").pipe("k", None)
        assert driver.output("out").read_key_values() == [("k", "v"), ("k", None)]


def test_a_join_looks_at_the_tables_state_at_that_moment() -> None:
    builder = StreamsBuilder()
    table = builder.table("table", value=str, store=Materialized("t"))
    joined = builder.stream("stream", value=str).left_join(table, join=lambda v, row: f"{v}/{row}", value=str)
    joined.to("out")
    with TopologyTestDriver(builder.build()) as driver:
        stream, table_topic = driver.input("stream"), driver.input("table")
        stream.pipe("k", "1", timestamp=10)
        table_topic.pipe("k", "late row", timestamp=0)
        stream.pipe("k", "2", timestamp=5)
        stream.pipe("other", "3", timestamp=6)
        table_topic.pipe("k", None, timestamp=1)
        stream.pipe("k", "4", timestamp=7)
        assert driver.output("out").read_values() == ["1/None", "2/late row", "3/None", "4/None"]


def test_a_join_with_a_windowed_table_looks_the_window_up() -> None:
    from datetime import timedelta

    from headrace import SessionWindows, TimeWindows

    for windows in (TimeWindows(timedelta(milliseconds=100)), SessionWindows(timedelta(milliseconds=100))):
        builder = StreamsBuilder()
        counts = builder.stream("in", value=str).group_by_key().windowed_by(windows).count(store="n")
        updates = counts.to_stream()
        updates.filter(lambda window, n: n is not None).join(
            counts, join=lambda n, again: f"{n}={again}", value=str
        ).to("out")
        with TopologyTestDriver(builder.build()) as driver:
            driver.input("in").pipe("k", "a", timestamp=10)
            driver.input("in").pipe("k", "b", timestamp=20)
            assert driver.output("out").read_values() == ["1=1", "2=2"]


def test_a_callback_of_an_aggregate_that_raises_leaves_the_store_as_it_was() -> None:
    def add(key: str, value: str, total: int) -> int:
        return total + int(value)

    def build_with(stream: Any) -> None:
        stream.group_by_key().aggregate(int, add, value=int, store="sum").to_stream().to("out")

    with TopologyTestDriver(topology(build_with), SKIPPING) as driver:
        for value in ("1", "x", "2"):
            driver.input("in").pipe("k", value)
        assert driver.output("out").read_values() == [1, 3]
        assert driver.store("sum").get("k") == 3


def test_a_record_without_a_key_does_not_get_into_a_repartition_topic() -> None:
    def build_with(stream: Any) -> None:
        grouped = stream.group_by(lambda k, v: None if v == "none" else v, key=str)
        grouped.count(store="n").to_stream().to("out")

    with TopologyTestDriver(topology(build_with), SKIPPING) as driver:
        for value in ("none", "some"):
            driver.input("in").pipe("k", value)
        assert driver.output("app-n-repartition").read_values() == ["some"]


class Later(Processor[str, str, str, str]):
    """Forwards a record of another time, and only then keeps what it got."""

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record.with_timestamp(record.timestamp + 1000))
        self.context.get_state_store("early").put(record.key, record.value)


class Keeps(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.get_state_store("late").put(record.key, record.value)


def test_a_plain_store_logs_the_time_of_the_record_that_its_own_processor_got() -> None:
    def build_with(stream: Any) -> None:
        early = key_value_store("early", key=str, value=str)
        late = key_value_store("late", key=str, value=str)
        stream.process(Later, stores=[early], value=str).process(Keeps, stores=[late], value=str)

    with TopologyTestDriver(topology(build_with), SKIPPING) as driver:
        driver.input("in").pipe("k", "v", timestamp=5)
        assert driver.output("app-early-changelog").read_record().timestamp == 5
        assert driver.output("app-late-changelog").read_record().timestamp == 1005
