"""Tables: filter, map_values, group_by, and streams as tables."""

from __future__ import annotations

from typing import Any

from semantics.scenarios.common import ms, text
from semantics.scenarios.table_joins import both

from headrace import SessionWindows, StreamsBuilder, TimeWindows, ValueTransformer, key_value_store


def plus(total: int, value: int) -> int:
    return total + value


def minus(total: int, value: int) -> int:
    return total - value


def even(key: Any, value: int) -> bool:
    return value % 2 == 0


def by_letter(key: str, value: str) -> Any:
    return None if value[0] == "x" else value[0], value


def by_rest(key: str, value: int) -> tuple[str, int]:
    return f"g{value % 3}", value


def table_filter_alone(builder: StreamsBuilder) -> None:
    builder.table("in", value=int).filter(even).to_stream().to("out")


def table_map_values(builder: StreamsBuilder) -> None:
    table = builder.table("in", value=int, store="t")
    table.map_values(lambda v: None if v == 0 else f"v{v}").to_stream().to("plain", value=str)
    mapped = table.map_values(lambda k, v: None if v == 0 else f"{k}{v}", with_key=True, value=str, store="m")
    mapped.to_stream().to("mat")
    mapped.to_stream(lambda key, value: text(value) + "!").to("rekeyed")


def table_group_by_count(builder: StreamsBuilder) -> None:
    grouped = builder.table("in", value=str, store="t").group_by(by_letter, key=str, value=str)
    grouped.count(store="counts").to_stream().to("out")


def table_group_by_reduce(builder: StreamsBuilder) -> None:
    grouped = builder.table("in", value=int, store="t").group_by(by_rest)
    grouped.reduce(plus, minus, store="red").to_stream().to("out")


def chain_windowed_table_group_by(builder: StreamsBuilder) -> None:
    windows = builder.stream("in", value=str).group_by_key().windowed_by(TimeWindows(ms(100), grace=ms(30)))
    by_start = windows.count(store="counts").group_by(lambda at, n: (str(at.start), n), key=str, value=int)
    by_start.reduce(plus, minus, store="total").to_stream().to("out")


def table_filter_order_of_calls(builder: StreamsBuilder) -> None:
    table = builder.table("in", value=int)
    table.filter(even).to_stream().to("before")
    table.filter(even, store="f").to_stream().to("kept")
    table.group_by(by_rest).count(store="n").to_stream().to("counts")
    table.filter_not(even).to_stream().to("after")
    table.filter_not(even, store="fn").to_stream().to("kept-after")


def table_values_chain(builder: StreamsBuilder) -> None:
    filtered = builder.table("in", value=int).filter(lambda key, value: value % 4 != 0)
    mapped = filtered.map_values(lambda value: None if value == 1 else value * 10, value=int, store="m")
    rest = mapped.filter(lambda key, value: value % 3 != 0)
    chain = rest.map_values(lambda key, value: value + len(key), with_key=True, value=int)
    chain.to_stream().to("out")
    grouped = chain.group_by(lambda key, value: (f"g{value % 2}", value), key=str, value=int)
    grouped.reduce(plus, minus, store="sum").to_stream().to("sums")
    chain.filter(lambda key, value: value > 50, store="large").to_stream().to("large-out")


def table_group_by_aggregate(builder: StreamsBuilder) -> None:
    def pair(key: str, value: int) -> Any:
        return None if value % 7 == 0 else f"g{value % 3}", None if value % 5 == 0 else value

    def add(key: str, value: int, so_far: str) -> Any:
        return None if value % 11 == 0 else f"{so_far},{value}"

    def subtract(key: str, value: int, so_far: str) -> Any:
        rest = so_far.replace(f",{value}", "", 1)
        return None if rest == key[0] else rest

    grouped = builder.table("in", value=int, store="t").group_by(pair, key=str, value=int)
    lists = grouped.aggregate(lambda: "g", add, subtract, value=str, store="agg")
    lists.to_stream().to("out")
    by_length = lists.group_by(lambda key, value: (f"n{len(value) % 2}", value), key=str, value=str)
    by_length.count(store="n").to_stream().to("counts")


def to_table_rekeyed(builder: StreamsBuilder) -> None:
    stream = builder.stream("in", value=str)
    table = stream.select_key(lambda key, value: key if value is None else value[0]).to_table(store="t")
    table.to_stream().to("out")
    table.filter(lambda key, value: value[-1] > "4").to_stream().to("high")
    table.group_by(lambda key, value: (value[-1], value), key=str, value=str).count(store="n").to_stream().to(
        "counts"
    )


def table_of_windows(builder: StreamsBuilder) -> None:
    a = builder.stream("a", value=str).group_by_key()
    b = builder.stream("b", value=str).group_by_key()
    windows = TimeWindows(ms(100), grace=ms(30))
    x, y = a.windowed_by(windows).count(store="x"), b.windowed_by(windows).count(store="y")
    x.outer_join(y, join=both).to_stream().to("joined")
    x.filter(lambda at, n: n > 1).join(y, join=both).to_stream().to("many")
    sessions = a.windowed_by(SessionWindows(gap=ms(40), grace=ms(20))).count(store="s")
    sessions.filter(lambda at, n: n > 1).to_stream().to("sessions")
    by_key = sessions.group_by(lambda at, n: (at.key, n), key=str, value=int)
    by_key.reduce(plus, minus, store="sum").to_stream().to("sums")


class Numbering(ValueTransformer[str, int, str]):
    def transform(self, key: str, value: int | None) -> str | None:
        seen = self.context.get_state_store("seen")
        number = (seen.get(key) or 0) + 1
        seen.put(key, number)
        return None if value is None and number % 3 != 0 else f"{text(value)}#{number}"


class Marking(ValueTransformer[str, int, str]):
    def transform(self, key: str, value: int | None) -> str | None:
        return None if value is not None and value % 3 == 0 else key + text(value)


def table_transform_values(builder: StreamsBuilder) -> None:
    def by_end(key: str, value: str) -> tuple[str, str]:
        return value[-1], value

    builder.add_state_store(key_value_store("seen", key=str, value=int))
    table = builder.table("in", value=int)
    table.transform_values(Numbering, stores=["seen"]).to_stream().to("numbered")
    kept, passing = table.transform_values(Marking, store="m"), table.transform_values(Marking)
    kept.to_stream().to("kept")
    kept.group_by(by_end).count(store="n").to_stream().to("counts")
    passing.group_by(by_end).count(store="np").to_stream().to("plain-counts")
    builder.stream("stream", value=str).left_join(passing, join=both).to("joined")


SCENARIOS = {
    "table_filter_alone": table_filter_alone,
    "table_map_values": table_map_values,
    "table_group_by_count": table_group_by_count,
    "table_group_by_reduce": table_group_by_reduce,
    "chain_windowed_table_group_by": chain_windowed_table_group_by,
    "table_filter_order_of_calls": table_filter_order_of_calls,
    "table_values_chain": table_values_chain,
    "table_group_by_aggregate": table_group_by_aggregate,
    "to_table_rekeyed": to_table_rekeyed,
    "table_of_windows": table_of_windows,
    "table_transform_values": table_transform_values,
}
