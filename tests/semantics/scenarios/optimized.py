"""Topologies that are rewritten while they are built (`topology.optimization`)."""

from __future__ import annotations

from typing import Any

from semantics.scenarios.common import ms, text
from semantics.scenarios.stream_joins import self_join

from headrace import JoinWindows, Materialized, Processor, StreamsBuilder, StreamsConfig, TimeWindows


def _pick(value: str | None) -> str:
    return "N" if value is None else "ABC"[int(value[1:]) % 3]


def _key(key: str | None, value: str | None) -> str:
    return _pick(value)


def _even(key: object, value: str | None) -> bool:
    return value is not None and int(value[1:]) % 2 == 0


def _sum(left: str, right: str) -> str:
    return left + right


def _plus(left: object, right: object) -> str:
    return f"{text(left)}+{text(right)}"


class Louder(Processor[str, str, str, str]):
    def process(self, record: Any) -> None:
        self.context.forward(record.with_value(text(record.value) + "!"))


def self_join_left_asymmetric(builder: StreamsBuilder) -> None:
    def key(key: str | None, value: str | None) -> str | None:
        return None if key is None else _pick(value)

    def join(key: object, left: object, right: object) -> str:
        return f"{text(key)}:{_plus(left, right)}"

    stream = builder.stream("in", value=str).select_key(key, key=str)
    windows = JoinWindows(ms(60), before=ms(10), grace=ms(0))
    stream.left_join(stream, windows=windows, join=join, with_key=True).to("left")
    windows = JoinWindows(ms(50), before=ms(-20), grace=ms(40))
    stream.outer_join(stream, windows=windows, join=_plus).to("outer")


def merged_repartitions(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=str)
    stream = builder.stream("in", value=str).select_key(_key, key=str)
    stream.group_by_key().count(store="counts").to_stream().to("counts")
    stream.filter(_even).group_by_key().reduce(_sum, store="reduced").to_stream().to("reduced")
    windows = TimeWindows(ms(100), grace=ms(50))
    loud = stream.process_values(Louder, value=str).group_by_key().windowed_by(windows)
    loud.reduce(_sum, store="windows").to_stream().to("windows")
    stream.join(table, join=_plus, value=str).to("joined")


def merge_of_streams(builder: StreamsBuilder) -> None:
    rekeyed = builder.stream("one", value=str).select_key(_key, key=str)
    merged = rekeyed.merge(builder.stream("two", key=str, value=str))
    merged.to_table(store="last").to_stream().to("last")
    merged.group_by_key().count(store="counts").to_stream().to("counts")


def table_topics(builder: StreamsBuilder) -> None:
    one = builder.table("a", value=str, store="as")
    other = builder.table("b", value=str, store=Materialized("bs", logging=False))
    one.outer_join(other, join=_plus, store=Materialized("joined", value=str)).to_stream().to("out")

    def pair(key: str, value: str) -> tuple[str, str]:
        return _pick(value), value

    counted = one.filter(_even).group_by(pair, key=str, value=str).count(store="counts")
    counted.to_stream().to("counts")


SCENARIOS = {
    "optimized_self_join": self_join,
    "optimized_self_join_left_asymmetric": self_join_left_asymmetric,
    "optimized_merged_repartitions": merged_repartitions,
    "optimized_merge_of_streams": merge_of_streams,
    "optimized_table_topics": table_topics,
}


def _config(optimization: str) -> StreamsConfig:
    return StreamsConfig(application_id="oracle", default_value=str, topology_optimization=optimization)


CONFIGS = {
    **dict.fromkeys(SCENARIOS, _config("all")),
    "optimized_merge_of_streams": _config("merge.repartition.topics"),
    "optimized_table_topics": _config("reuse.ktable.source.topics"),
}
