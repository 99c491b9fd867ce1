"""Aggregates in time windows and sessions."""

from __future__ import annotations

from semantics.scenarios.common import ms, text

from headrace import SessionWindows, StreamsBuilder, TimeWindows


def tumbling_count_grace_0(builder: StreamsBuilder) -> None:
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(TimeWindows(ms(100)))
    windowed.count(store="counts").to_stream().to("out")


def hopping_count(builder: StreamsBuilder) -> None:
    windows = TimeWindows(ms(100), advance=ms(30), grace=ms(40))
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(windows)
    windowed.count(store="counts").to_stream().to("out")


def tumbling_reduce(builder: StreamsBuilder) -> None:
    windowed = builder.stream("in", value=int).group_by_key().windowed_by(TimeWindows(ms(100), grace=ms(50)))
    windowed.reduce(lambda a, b: a + (b or 0), store="red").to_stream().to("out")


def session_count(builder: StreamsBuilder) -> None:
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(SessionWindows(ms(40)))
    windowed.count(store="counts").to_stream().to("out")


def session_reduce(builder: StreamsBuilder) -> None:
    windows = SessionWindows(ms(30), grace=ms(50))
    windowed = builder.stream("in", value=int).group_by_key().windowed_by(windows)
    windowed.reduce(lambda a, b: a + (b or 0), store="red").to_stream().to("out")


def session_aggregate(builder: StreamsBuilder) -> None:
    windows = SessionWindows(ms(40), grace=ms(100))
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(windows)
    table = windowed.aggregate(
        lambda: "",
        lambda key, value, so_far: so_far + text(value),
        lambda key, left, right: f"({left}|{right})",
        value=str,
        store="agg",
    )
    table.to_stream().to("out")


def window_boundaries(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in", value=str).group_by_key()
    tumbling = grouped.windowed_by(TimeWindows(ms(5), grace=ms(3)))
    tumbling.count(store="tumbling").to_stream().to("tumbling-out")
    hopping = grouped.windowed_by(TimeWindows(ms(5), advance=ms(2), grace=ms(3)))
    hopping.count(store="hopping").to_stream().to("hopping-out")
    session = grouped.windowed_by(SessionWindows(ms(3), grace=ms(4)))
    session.count(store="session").to_stream().to("session-out")


def fraud_detector(builder: StreamsBuilder) -> None:
    risk = builder.global_table("risk-scores", value=int, store="global-risk-store")
    (
        builder.stream("transactions", value=str)
        .left_join(
            risk,
            on=lambda key, tx: tx.split("|")[0],
            join=lambda tx, score: f"{tx}|{score or 0}",
            value=str,
        )
        .filter(lambda key, tx: int(tx.split("|")[1]) > 1000 and int(tx.split("|")[2]) > 70)
        .group_by(lambda key, tx: tx.split("|")[0], key=str)
        .windowed_by(SessionWindows(ms(120), grace=ms(60)))
        .count(store="session-count-store")
        .to_stream()
        .filter(lambda window, n: n is not None and n >= 3)
        .map(lambda window, n: (window.key, f"{window.key}:{n}@{window.start}"), key=str, value=str)
        .to("fraud-alerts")
    )


def chain_windowed_count_to_stream_group_by(builder: StreamsBuilder) -> None:
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(TimeWindows(ms(100), grace=ms(30)))
    (
        windowed.count(store="counts")
        .to_stream()
        .map(lambda window, n: (str(window.start), f"{window.key}{n}"), key=str, value=str)
        .group_by_key()
        .aggregate(lambda: "", lambda key, value, so_far: so_far + text(value), value=str, store="agg")
        .to_stream()
        .to("out")
    )


SCENARIOS = {
    "tumbling_count_grace_0": tumbling_count_grace_0,
    "hopping_count": hopping_count,
    "tumbling_reduce": tumbling_reduce,
    "session_count": session_count,
    "session_reduce": session_reduce,
    "session_aggregate": session_aggregate,
    "window_boundaries": window_boundaries,
    "fraud_detector": fraud_detector,
    "chain_windowed_count_to_stream_group_by": chain_windowed_count_to_stream_group_by,
}
