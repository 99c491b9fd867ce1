"""Foreign-key joins of tables."""

from __future__ import annotations

from semantics.scenarios.common import text
from semantics.scenarios.versioned import history

from headrace import KTable, Materialized, StreamsBuilder


def both(left: object, right: object) -> str:
    return f"{text(left)}+{text(right)}"


def foreign_key(key: str, value: str) -> str | None:
    """Values are <foreign key>|<number>; `-` is none."""
    found = value.split("|")[0]
    return None if found == "-" else found


def _tables(builder: StreamsBuilder, *topics: str) -> list[KTable[str, str]]:
    return [builder.table(topic, value=str) for topic in topics]


def foreign_key_inner(builder: StreamsBuilder) -> None:
    left, right = builder.table("left", value=str, store="l"), builder.table("right", value=str, store="r")
    left.join(right, on=foreign_key, join=both, store="j").to_stream().to("out")


def foreign_key_left(builder: StreamsBuilder) -> None:
    def some(left: str, right: str | None) -> str | None:
        return None if right is None or right[-1] == "3" else f"{left}*{right}"

    left, right = _tables(builder, "left", "right")
    left.left_join(right, on=foreign_key, join=both, store="j").to_stream().to("out")
    left.left_join(right, on=foreign_key, join=some, name="some").to_stream().to("some")


def foreign_key_chain(builder: StreamsBuilder) -> None:
    left, right, third = _tables(builder, "left", "right", "third")
    two = left.join(right, on=foreign_key, join=both)
    three = two.left_join(
        third, on=lambda key, value: foreign_key(key, value.split("+")[1]), join=both, store="lrt"
    )
    three.to_stream().to("lrt")
    others = right.left_join(third, on=foreign_key, join=both, store="rt")
    left.join(others, on=foreign_key, join=both).to_stream().to("l-rt")


def foreign_key_result(builder: StreamsBuilder) -> None:
    left, right = _tables(builder, "left", "right")
    joined = left.left_join(right, on=foreign_key, join=both)
    joined.filter(lambda key, value: value[-1] != "2").to_stream().to("filtered")
    by_right = joined.group_by(lambda key, value: (value.split("+")[1], value), key=str, value=str)
    by_right.count(store="n").to_stream().to("counts")
    joined.outer_join(left, join=both).to_stream().to("joined")
    builder.stream("stream", value=str).left_join(joined, join=both).to("looked-up")


def foreign_key_self(builder: StreamsBuilder) -> None:
    (rows,) = _tables(builder, "in")
    up = rows.join(rows, on=foreign_key, join=both)
    up.to_stream().to("up")
    rows.left_join(up, on=foreign_key, join=both, name="two", store="two").to_stream().to("two-up")


def foreign_key_rekeyed(builder: StreamsBuilder) -> None:
    rekeyed = builder.stream("left", value=str).select_key(
        lambda key, value: None if value is None else key + value[-1], key=str
    )
    left = rekeyed.to_table(store="l")
    grouped = builder.stream("right", value=str).group_by(lambda key, value: key.lower() + value[-1], key=str)
    right = grouped.reduce(lambda a, b: b if len(a) > 9 else a + b)
    joined = left.join(
        right,
        on=lambda key, value: None if value[-1] == "7" else key.lower(),
        join=both,
        name="fk",
        store="j",
    )
    joined.to_stream().to("out")
    right.left_join(left, on=lambda key, value: key.upper(), join=both).to_stream().to("back")


def foreign_key_without_stores(builder: StreamsBuilder) -> None:
    def rest(value: int) -> int | None:
        return None if value % 5 == 0 else value % 4

    def place(key: str, value: int) -> str:
        return f"p{value % 3}"

    mapped = builder.table("left", value=int).map_values(rest, store=Materialized(key=str, value=int))
    left = mapped.filter(lambda key, value: value != 2)
    right = builder.table("right", value=int).outer_join(
        builder.table("other", value=int), join=lambda a, b: f"{text(a)}&{text(b)}", value=str
    )
    left.join(right, on=place, join=both).to_stream().to("l-r")
    left.left_join(right, on=place, join=both).to_stream().to("l-left-r")
    right.left_join(left, on=lambda key, value: value.split("&")[0], join=both).to_stream().to("back")


def foreign_key_versioned(builder: StreamsBuilder) -> None:
    left = builder.table("left", value=str, store=history("l", 300))
    right = builder.table("right", value=str, store=history("r", 300))
    plain = builder.table("plain", value=str)
    left.left_join(plain, on=foreign_key, join=both, store="lp").to_stream().to("l-p")
    filtered = left.filter(lambda key, value: value[-1] != "5")
    filtered.join(right, on=foreign_key, join=both, store=history("fr", 300)).to_stream().to("f-r")
    plain.left_join(right, on=foreign_key, join=both).to_stream().to("p-r")


SCENARIOS = {
    "foreign_key_inner": foreign_key_inner,
    "foreign_key_left": foreign_key_left,
    "foreign_key_chain": foreign_key_chain,
    "foreign_key_result": foreign_key_result,
    "foreign_key_self": foreign_key_self,
    "foreign_key_rekeyed": foreign_key_rekeyed,
    "foreign_key_without_stores": foreign_key_without_stores,
    "foreign_key_versioned": foreign_key_versioned,
}
