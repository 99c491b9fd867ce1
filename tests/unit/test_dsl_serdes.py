"""How serdes flow through the DSL: inherited, cleared when something changes, said by a type or an annotation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from headrace import KStream, Processor, Serde, SessionWindows, StreamsBuilder, TimeWindows, Topology
from headrace.serdes import SessionWindowedSerde, TaggedSerde, TimeWindowedSerde, serde_for
from headrace.topology.nodes import SinkNode, SourceNode


@dataclass
class Order:
    user: int
    amount: float


LONG, STRING, DOUBLE, ORDER = serde_for(int), serde_for(str), serde_for(float), serde_for(Order)


def node(topology: Topology, name: str) -> SourceNode | SinkNode:
    found = topology.nodes[name]
    assert isinstance(found, SourceNode | SinkNode)
    return found


def written(stream: KStream[Any, Any], builder: StreamsBuilder) -> tuple[Any, Any]:
    """The serdes with which the stream would be written to a topic of the user's."""
    stream.to("out", name="the-sink")
    sink = node(builder.build(), "the-sink")
    return sink.key, sink.value


def repartitioned(stream: KStream[Any, Any], builder: StreamsBuilder) -> tuple[Any, Any]:
    """The serdes with which the stream would be written to an internal topic."""
    stream.repartition(name="r")
    topology = builder.build()
    sink, source = node(topology, "r-repartition-sink"), node(topology, "r-repartition-source")
    assert (sink.key, type(sink.value)) == (source.key, type(source.value))
    return sink.key, sink.value


@pytest.fixture
def builder() -> StreamsBuilder:
    return StreamsBuilder()


@pytest.fixture
def orders(builder: StreamsBuilder) -> KStream[int, Order]:
    return builder.stream("orders", key=int, value=Order)


def test_a_source_that_says_nothing_has_the_defaults(builder: StreamsBuilder) -> None:
    assert written(builder.stream("s"), builder) == (None, None)


def test_the_default_stays_the_default_inside(builder: StreamsBuilder) -> None:
    assert repartitioned(builder.stream("s"), builder) == (None, None)


def test_operations_that_change_nothing_keep_both(
    builder: StreamsBuilder, orders: KStream[int, Order]
) -> None:
    kept = orders.filter(lambda k, v: True).filter_not(lambda k, v: False).peek(lambda k, v: None)
    (branch,) = kept.branch(lambda k, v: True)
    assert written(branch.repartition(), builder) == (LONG, ORDER)


def test_select_key_clears_the_key(builder: StreamsBuilder, orders: KStream[int, Order]) -> None:
    assert written(orders.select_key(lambda k, v: v.user), builder) == (None, ORDER)


def test_map_values_clears_the_value(builder: StreamsBuilder, orders: KStream[int, Order]) -> None:
    assert written(orders.map_values(lambda v: v.amount), builder) == (LONG, None)


def test_map_clears_both(builder: StreamsBuilder, orders: KStream[int, Order]) -> None:
    assert written(orders.map(lambda k, v: (v, k)), builder) == (None, None)


def test_a_value_of_no_known_type_carries_its_name_inside(
    builder: StreamsBuilder, orders: KStream[int, Order]
) -> None:
    key, value = repartitioned(orders.map(lambda k, v: (v, k)), builder)
    assert key is None
    assert isinstance(value, TaggedSerde)


def test_a_step_can_say_its_types(builder: StreamsBuilder, orders: KStream[int, Order]) -> None:
    stream = orders.map(lambda k, v: ("a", 1), key=str, value=int).flat_map_values(lambda v: [v], value=float)
    assert written(stream.select_key(lambda k, v: 1, key=int), builder) == (LONG, DOUBLE)


def test_a_sink_can_say_its_types(builder: StreamsBuilder) -> None:
    builder.stream("s").to("out", key=int, value=Order, name="sink")
    sink = node(builder.build(), "sink")
    assert (sink.key, sink.value) == (LONG, ORDER)


def test_a_serde_is_taken_as_it_is(builder: StreamsBuilder) -> None:
    serde: Serde[str] = Serde.of(lambda text: text.encode(), lambda data: data.decode())
    assert written(builder.stream("s", value=serde), builder) == (None, serde)


def by_user(key: int, order: Order) -> str:
    return str(order.user)


def amount(order: Order) -> float:
    return order.amount


def maybe_amount(order: Order) -> float | None:
    return order.amount


def swapped(key: int, order: Order) -> tuple[str, int]:
    return str(order.user), key


def parts(order: Order) -> list[float]:
    return [order.amount]


def lazily(order: Order) -> Iterator[int]:
    yield order.user


def pairs(key: int, order: Order) -> Iterable[tuple[str, float]]:
    return [("a", order.amount)]


def anything(order: Order) -> Any:
    return order


def unseen(order: Order) -> NotThere:  # type: ignore[name-defined]  # noqa: F821
    return order


def unwritable(order: Order) -> object:
    return order


class Scale:
    def __call__(self, order: Order) -> float:
        return order.amount

    def method(self, order: Order) -> int:
        return order.user


class Forward(Processor[int, Order, str, float]):
    pass


def test_annotations_of_named_functions_are_read(orders: KStream[int, Order]) -> None:
    forms = {
        "select_key": orders.select_key(by_user)._key,
        "map_values": orders.map_values(amount)._value,
        "optional": orders.map_values(maybe_amount)._value,
        "flat_map_values": orders.flat_map_values(parts)._value,
        "generator": orders.flat_map_values(lazily)._value,
        "object": orders.map_values(Scale())._value,
        "method": orders.map_values(Scale().method)._value,
        "partial": orders.map_values(partial(amount))._value,
        "class": orders.map_values(str)._value,
        "joined": orders.map(swapped)._key,
    }
    assert {name: form.serde for name, form in forms.items()} == {
        "select_key": STRING,
        "map_values": DOUBLE,
        "optional": DOUBLE,
        "flat_map_values": DOUBLE,
        "generator": LONG,
        "object": DOUBLE,
        "method": LONG,
        "partial": DOUBLE,
        "class": STRING,
        "joined": STRING,
    }


def test_annotations_of_pairs_and_processors_are_read(orders: KStream[int, Order]) -> None:
    for stream, key, value in (
        (orders.map(swapped), STRING, LONG),
        (orders.flat_map(pairs), STRING, DOUBLE),
        (orders.process(Forward), STRING, DOUBLE),
        (orders.process_values(Forward), LONG, DOUBLE),  # type: ignore[arg-type]
    ):
        assert (stream._key.serde, stream._value.serde) == (key, value)


@pytest.mark.parametrize("mapper", [anything, unseen, unwritable, lambda order: 1])
def test_an_annotation_that_says_nothing_leaves_the_value_unknown(
    mapper: Any, orders: KStream[int, Order]
) -> None:
    form = orders.map_values(mapper)._value
    assert form.serde is None
    assert isinstance(form.internal, TaggedSerde)


def test_what_is_said_goes_before_the_annotation(orders: KStream[int, Order]) -> None:
    assert orders.map_values(amount, value=str)._value.serde == STRING  # type: ignore[arg-type]


def test_merge_keeps_what_both_have_in_common(builder: StreamsBuilder) -> None:
    a = builder.stream("a", key=int, value=Order)
    b = builder.stream("b", key=int, value=str)
    merged = a.merge(b)  # type: ignore[arg-type]
    assert merged._key.serde == LONG
    assert merged._value.serde is None


def test_an_aggregate_is_written_as_said_annotated_or_started(orders: KStream[int, Order]) -> None:
    def total(key: int, order: Order, so_far: float) -> float:
        return so_far + order.amount

    grouped = orders.group_by_key()
    assert grouped.aggregate(lambda: 0.0, lambda k, v, a: a, value=float)._value.serde == DOUBLE
    assert grouped.aggregate(lambda: 0.0, total)._value.serde == DOUBLE
    assert grouped.aggregate(int, lambda k, v, a: a)._value.serde == LONG
    assert isinstance(grouped.aggregate(lambda: 0, lambda k, v, a: a)._value.internal, TaggedSerde)
    assert grouped.reduce(lambda a, b: a)._value.serde == ORDER
    assert grouped.count()._value.serde == LONG


def test_windowed_tables_have_windowed_keys(orders: KStream[int, Order]) -> None:
    minute = timedelta(minutes=1)
    by_key, by_new = orders.group_by_key(), orders.group_by(lambda k, v: "a")
    assert by_key.windowed_by(TimeWindows(minute)).count()._key.serde == TimeWindowedSerde(LONG, 60_000)
    assert by_new.windowed_by(TimeWindows(minute)).count()._key.serde == TimeWindowedSerde(None, 60_000)
    assert by_key.windowed_by(SessionWindows(minute)).count()._key.serde == SessionWindowedSerde(LONG)


def test_to_stream_keeps_both_and_a_mapper_clears_the_key(orders: KStream[int, Order]) -> None:
    counts = orders.group_by_key().count()
    assert (counts.to_stream()._key.serde, counts.to_stream()._value.serde) == (LONG, LONG)
    assert counts.to_stream(lambda k, v: str(k))._key.serde is None
    assert counts.to_stream(lambda k, v: str(k), key=str)._key.serde == STRING


def test_a_group_by_repartitions_with_the_new_key_and_the_old_value(builder: StreamsBuilder) -> None:
    builder.stream("s", key=int, value=Order).group_by(by_user).count(store="c")
    sink = node(builder.build(), "c-repartition-sink")
    assert (sink.key, sink.value) == (STRING, ORDER)


def test_a_joined_stream_of_unknown_key_is_written_with_the_key_of_the_table(builder: StreamsBuilder) -> None:
    table = builder.table("t", key=int, value=str)
    stream = builder.stream("s", value=Order).select_key(lambda k, v: v.user)
    stream.join(table, join=lambda order, text: text, name="j").to("out", name="sink")
    topology = builder.build()
    assert node(topology, "j-repartition-sink").key == LONG
    assert (node(topology, "sink").key, node(topology, "sink").value) == (LONG, None)


def test_a_join_with_a_global_table_keeps_the_key(
    builder: StreamsBuilder, orders: KStream[int, Order]
) -> None:
    table = builder.global_table("g", value=str)
    joined = orders.left_join(table, on=lambda k, v: "a", join=lambda v, text: 1.0, value=float)
    assert written(joined, builder) == (LONG, DOUBLE)
