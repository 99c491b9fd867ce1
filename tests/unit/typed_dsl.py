"""What a type checker sees of the DSL. Checked by mypy and run by `test_dsl_typing.py`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypedDict, assert_type

import msgspec

from headrace import (
    BufferConfig,
    CogroupedKStream,
    Consumer,
    ConsumerRecord,
    EmitStrategy,
    GlobalKTable,
    JoinWindows,
    KGroupedStream,
    KGroupedTable,
    KStream,
    KTable,
    Materialized,
    Processor,
    Producer,
    Record,
    Serde,
    Serdes,
    SessionWindows,
    SlidingWindows,
    StateStore,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    UnlimitedWindows,
    ValueTransformer,
    Windowed,
    custom_store,
)
from headrace.suppressed import EagerBufferConfig, StrictBufferConfig
from headrace.testing import TestInputTopic, TopologyTestDriver


@dataclass
class Order:
    user: str
    amount: float


class Point(msgspec.Struct):
    x: int


class Row(TypedDict):
    name: str


class Rename(Processor[str, Order, int, Point]):
    pass


class Keep(Processor[str, Order, str, Point]):
    pass


class Measure(ValueTransformer[str, Point, float]):
    pass


def amount_of(order: Order) -> float:
    return order.amount


minute = timedelta(minutes=1)
builder = StreamsBuilder()

assert_type(builder.stream("a"), KStream[str, Any])
assert_type(builder.stream("b", value=Order), KStream[str, Order])
assert_type(builder.stream("c", key=int, value=Point), KStream[int, Point])
assert_type(builder.stream("d", value=Row), KStream[str, Row])
assert_type(builder.stream("e", value=list[int]), KStream[str, list[int]])
assert_type(builder.stream("f", key=int), KStream[int, Any])
serde: Serde[bytes] = Serde.of(bytes, bytes)
assert_type(builder.stream("g", value=serde), KStream[str, bytes])
assert_type(builder.table("h", value=Order), KTable[str, Order])
assert_type(builder.table("i", key=int, value=Order, store="rows"), KTable[int, Order])
assert_type(builder.table("k", key=int), KTable[int, Any])
assert_type(builder.global_table("j", value=int), GlobalKTable[str, int])
assert_type(builder.global_table("l", key=int), GlobalKTable[int, Any])
assert_type(builder.global_table("m", key=int, value=Order), GlobalKTable[int, Order])

orders = builder.stream("orders", value=Order)
assert_type(orders.filter(lambda key, order: order.amount > 1), KStream[str, Order])
assert_type(orders.filter_not(lambda key, order: order.amount > 1), KStream[str, Order])
assert_type(orders.map_values(lambda order: order.amount), KStream[str, float])
assert_type(orders.map_values(amount_of), KStream[str, float])
assert_type(orders.map_values(lambda order: Point(1), value=Point), KStream[str, Point])
assert_type(orders.map_values(lambda key, order: key, with_key=True), KStream[str, str])
assert_type(orders.flat_map_values(lambda order: [order.user]), KStream[str, str])
assert_type(orders.flat_map_values(lambda key, order: [key], with_key=True), KStream[str, str])
assert_type(orders.select_key(lambda key, order: len(key)), KStream[int, Order])
assert_type(orders.map(lambda key, order: (1, order.amount)), KStream[int, float])
assert_type(orders.flat_map(lambda key, order: [(len(key), key)]), KStream[int, str])
orders.foreach(lambda key, order: print(order.user))
orders.print(mapper=lambda key, order: order.user)
assert_type(orders.peek(lambda key, order: print(order.user)), KStream[str, Order])
assert_type(orders.merge(builder.stream("orders", value=Order)), KStream[str, Order])
assert_type(orders.deduplicate(within=minute), KStream[str, Order])
assert_type(orders.deduplicate(within=minute, id=lambda key, order: order.amount), KStream[str, Order])


async def rating(order: Order) -> Point:
    return Point(1)


async def rating_of(key: str, order: Order) -> float:
    return 1.0


assert_type(orders.map_values_async(rating), KStream[str, Point])
assert_type(orders.map_values_async(rating_of, with_key=True, concurrency=4), KStream[str, float])
assert_type(orders.repartition(partitions=3), KStream[str, Order])
assert_type(orders.branch(lambda key, order: True), tuple[KStream[str, Order], ...])
assert_type(orders.split().default_branch(), dict[str, KStream[str, Order]])
assert_type(
    orders.split().branch(lambda key, order: True, chain=lambda some: some.peek(print)).no_default_branch(),
    dict[str, KStream[str, Order]],
)
assert_type(orders.process(Rename), KStream[int, Point])
assert_type(orders.process_values(Keep), KStream[str, Point])

assert_type(orders.group_by_key(), KGroupedStream[str, Order])
by_amount = orders.group_by(lambda key, order: order.amount)
assert_type(by_amount, KGroupedStream[float, Order])
assert_type(by_amount.count(), KTable[float, int])
assert_type(by_amount.count(store=Materialized("counts", caching=True)), KTable[float, int])
assert_type(by_amount.reduce(lambda so_far, order: order), KTable[float, Order])
assert_type(
    by_amount.aggregate(lambda: 0.0, lambda key, order, sum: sum + order.amount), KTable[float, float]
)
assert_type(by_amount.aggregate(dict[str, int], lambda key, order, seen: seen), KTable[float, dict[str, int]])

tumbling = by_amount.windowed_by(TimeWindows(minute))
assert_type(tumbling.count(), KTable[Windowed[float], int])
assert_type(tumbling.reduce(lambda so_far, order: order), KTable[Windowed[float], Order])
assert_type(
    tumbling.aggregate(list[str], lambda key, order, users: users), KTable[Windowed[float], list[str]]
)
sliding = by_amount.windowed_by(SlidingWindows(minute)).emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
assert_type(sliding.count(), KTable[Windowed[float], int])
assert_type(sliding.reduce(lambda so_far, order: order), KTable[Windowed[float], Order])
assert_type(by_amount.windowed_by(UnlimitedWindows()).count(), KTable[Windowed[float], int])
assert_type(EmitStrategy.on_window_close(idle=minute), EmitStrategy)
sessions = by_amount.windowed_by(SessionWindows(minute))
assert_type(sessions.count(), KTable[Windowed[float], int])
assert_type(sessions.reduce(lambda so_far, order: order), KTable[Windowed[float], Order])
assert_type(
    sessions.aggregate(float, lambda key, order, sum: sum, lambda key, left, right: left + right),
    KTable[Windowed[float], float],
)
assert_type(sessions.count().to_stream(), KStream[Windowed[float], int])
assert_type(sessions.count().to_stream(lambda window, count: window.start), KStream[int, int])

cogrouped = by_amount.cogroup(lambda key, order, sum: sum + order.amount, value=float).cogroup(
    builder.stream("more", key=float, value=Point).group_by_key(), lambda key, point, sum: sum + point.x
)
assert_type(cogrouped, CogroupedKStream[float, float])
assert_type(cogrouped.aggregate(float), KTable[float, float])
assert_type(cogrouped.windowed_by(TimeWindows(minute)).aggregate(float), KTable[Windowed[float], float])
assert_type(cogrouped.windowed_by(SlidingWindows(minute)).aggregate(float), KTable[Windowed[float], float])
assert_type(
    cogrouped.windowed_by(SessionWindows(minute)).aggregate(float, lambda key, left, right: left + right),
    KTable[Windowed[float], float],
)

users = builder.table("users", value=Point)
ranks = builder.global_table("ranks", key=int, value=float)


def both(order: Order, point: Point | None) -> str:
    return order.user


assert_type(orders.join(users, join=lambda order, point: point.x), KStream[str, int])
assert_type(orders.join(users, join=lambda key, order, point: key, with_key=True), KStream[str, str])
assert_type(orders.left_join(users, join=both), KStream[str, str])
assert_type(
    orders.left_join(users, join=lambda key, order, point: (key, point), with_key=True),
    KStream[str, tuple[str, Point | None]],
)
assert_type(
    orders.join(ranks, on=lambda key, order: 1, join=lambda order, rank: rank * 2), KStream[str, float]
)
assert_type(
    orders.join(ranks, on=lambda key, order: 1, join=lambda key, order, rank: (key, rank), with_key=True),
    KStream[str, tuple[str, float]],
)
assert_type(
    orders.left_join(ranks, on=lambda key, order: 1, join=lambda key, order, rank: rank, with_key=True),
    KStream[str, float | None],
)
assert_type(
    orders.left_join(ranks, on=lambda key, order: 1, join=lambda order, rank: rank),
    KStream[str, float | None],
)


points = builder.stream("points", value=Point)
within = JoinWindows(minute)
assert_type(orders.join(points, windows=within, join=lambda order, point: point.x), KStream[str, int])
assert_type(
    orders.left_join(points, windows=within, join=lambda order, point: (order.amount, point)),
    KStream[str, tuple[float, Point | None]],
)
assert_type(
    orders.join(points, windows=within, join=lambda key, order, point: (key, point), with_key=True),
    KStream[str, tuple[str, Point]],
)
assert_type(
    orders.left_join(points, windows=within, join=lambda key, order, point: (key, point), with_key=True),
    KStream[str, tuple[str, Point | None]],
)
assert_type(
    orders.outer_join(points, windows=within, join=lambda order, point: (order, point)),
    KStream[str, tuple[Order | None, Point | None]],
)
assert_type(
    orders.outer_join(
        points, windows=within, join=lambda key, order, point: (key, order, point), with_key=True
    ),
    KStream[str, tuple[str, Order | None, Point | None]],
)

orders.to("out")
orders.to(lambda key, order, metadata: order.user)


def mistakes() -> None:
    """Never run: a type checker must see each of them."""
    orders.map_values(lambda order: order.usr)  # type: ignore[attr-defined]
    orders.filter(lambda key: True)  # type: ignore[arg-type, misc]
    orders.join(ranks, join=lambda order, rank: rank)  # type: ignore[call-overload]


assert_type(orders.to_table(store="orders"), KTable[str, Order])
assert_type(users.filter(lambda key, point: point.x > 0), KTable[str, Point])
assert_type(users.filter_not(lambda key, point: point.x > 0, store="low"), KTable[str, Point])
assert_type(users.map_values(lambda point: point.x), KTable[str, int])
assert_type(users.map_values(lambda key, point: key, with_key=True, store="keys"), KTable[str, str])
assert_type(users.transform_values(Measure, store="measured"), KTable[str, float])
assert_type(users.to_stream(), KStream[str, Point])
assert_type(users.to_stream(lambda key, point: point.x), KStream[int, Point])
by_x = users.group_by(lambda key, point: (point.x, key))
assert_type(by_x, KGroupedTable[int, str])
assert_type(by_x.count(), KTable[int, int])
assert_type(by_x.reduce(lambda so_far, key: key, lambda so_far, key: so_far), KTable[int, str])
assert_type(
    by_x.aggregate(lambda: 0.0, lambda x, key, sum: sum + 1, lambda x, key, sum: sum - 1), KTable[int, float]
)
assert_type(
    users.suppress(Suppressed.until_time_limit(minute, BufferConfig.max_records(9))), KTable[str, Point]
)
assert_type(BufferConfig.unbounded().with_max_records(9).with_logging_disabled(), StrictBufferConfig)
assert_type(BufferConfig.max_bytes(9).with_max_records(9), EagerBufferConfig)
versions = builder.table("versions", value=Point, store=Materialized("versions", history_retention=minute))
assert_type(orders.join(versions, join=lambda order, point: point.x, grace=minute), KStream[str, int])
amounts = builder.table("amounts", value=float)
assert_type(users.join(amounts, join=lambda point, amount: point.x * amount), KTable[str, float])
assert_type(
    users.left_join(amounts, join=lambda point, amount: (point, amount), store="pairs"),
    KTable[str, tuple[Point, float | None]],
)
assert_type(
    users.join(amounts, join=lambda key, point, amount: (key, amount), with_key=True),
    KTable[str, tuple[str, float]],
)
assert_type(
    users.left_join(amounts, join=lambda key, point, amount: amount, with_key=True), KTable[str, float | None]
)
assert_type(
    users.outer_join(amounts, join=lambda point, amount: (point, amount)),
    KTable[str, tuple[Point | None, float | None]],
)
numbered = builder.table("numbered", key=int, value=str)
assert_type(
    users.join(numbered, on=lambda key, point: point.x, join=lambda point, name: name), KTable[str, str]
)
assert_type(
    users.left_join(
        numbered, on=lambda key, point: None, join=lambda key, point, name: (key, name), with_key=True
    ),
    KTable[str, tuple[str, str | None]],
)
assert_type(
    users.outer_join(amounts, join=lambda key, point, amount: (point, amount), with_key=True),
    KTable[str, tuple[Point | None, float | None]],
)
assert_type(builder.stream("lists", value=Serdes.list(int)), KStream[str, list[int | None]])
assert_type(builder.stream("buffers", value=Serdes.byte_buffer()), KStream[str, memoryview])
assert_type(builder.add_state_store(custom_store("mine", StateStore)), StreamsBuilder)


def of_a_driver(driver: TopologyTestDriver) -> None:
    assert_type(driver.input("words", str, int), TestInputTopic[str, int])
    assert_type(driver.output("words", value=Point).read_record(), Record[Any, Point])
    assert_type(driver.create_output_topic("words", str, float).read_key_values_to_map(), dict[str, float])


def of_clients() -> None:
    assert_type(Producer(), Producer[Any, Any])
    assert_type(Producer(value=Point), Producer[Any, Point])
    assert_type(Consumer("words"), Consumer[str, bytes])
    assert_type(Consumer("words", key=int, value=Point).poll(), list[ConsumerRecord[int, Point]])
