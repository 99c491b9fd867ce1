"""Operators one after the other."""

from __future__ import annotations

from typing import Any

from semantics.scenarios.common import ms, text

from headrace import JoinWindows, StreamsBuilder


def _plus(left: object, right: object) -> str:
    return f"{text(left)}+{text(right)}"


def chain_repartitions_in_turn(builder: StreamsBuilder) -> None:
    def two(key: Any, value: Any) -> list[tuple[str, str]]:
        return [] if value is None else [(key, value), (value[0], f"{value}^")]

    stream = builder.stream("in", value=str).flat_map(two, key=str, value=str)
    windows = JoinWindows(ms(20), grace=ms(5))
    stream.left_join(stream, windows=windows, join=_plus, value=str, name="j").to("joined")
    first = stream.group_by(lambda key, value: value[0], key=str).count(store="x").to_stream()
    second = stream.group_by(lambda key, value: value[1], key=str).count(store="y").to_stream()
    first.merge(second).to("merged")


SCENARIOS = {"chain_repartitions_in_turn": chain_repartitions_in_turn}
