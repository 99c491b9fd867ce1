"""Aggregates in time windows and sessions."""

from __future__ import annotations

from semantics.scenarios.common import letter, ms, text

from headrace import (
    EmitStrategy,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    TimeWindows,
)


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


def _appended(key: object, value: object, so_far: str) -> str:
    return so_far + text(value)


def sliding_aggregate_grace_0(builder: StreamsBuilder) -> None:
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(SlidingWindows(ms(50)))
    windowed.aggregate(str, _appended, store="agg").to_stream().to("out")


def sliding_count_early(builder: StreamsBuilder) -> None:
    windows = SlidingWindows(ms(300), grace=ms(100))
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(windows)
    windowed.count(store="counts").to_stream().to("out")


def sliding_reduce_rekeyed(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in", value=str).group_by(letter, key=str)
    windowed = grouped.windowed_by(SlidingWindows(ms(20), grace=ms(60)))
    windowed.reduce(lambda a, b: a + b, store="red").to_stream().to("out")


LONG = ms(100_000)


def emit_final_tumbling(builder: StreamsBuilder) -> None:
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(TimeWindows(ms(100), grace=ms(20)))
    final = windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    final.count(store=Materialized("counts", retention=LONG)).to_stream().to("out")


def emit_final_hopping(builder: StreamsBuilder) -> None:
    windows = TimeWindows(ms(100), advance=ms(40), grace=ms(30))
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(windows)
    final = windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    final.aggregate(str, _appended, store=Materialized("agg", retention=LONG)).to_stream().to("out")


def emit_final_sliding(builder: StreamsBuilder) -> None:
    windowed = (
        builder.stream("in", value=str).group_by_key().windowed_by(SlidingWindows(ms(50), grace=ms(30)))
    )
    final = windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    final.aggregate(str, _appended, store=Materialized("agg", retention=LONG)).to_stream().to("out")


def emit_final_session(builder: StreamsBuilder) -> None:
    windowed = (
        builder.stream("in", value=str).group_by_key().windowed_by(SessionWindows(ms(30), grace=ms(20)))
    )
    final = windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    table = final.aggregate(
        str,
        _appended,
        lambda key, left, right: f"{left}|{right}",
        store=Materialized("agg", retention=LONG),
    )
    table.to_stream().to("out")


def emit_final_default_retention(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in", value=str).group_by_key()
    tumbling = grouped.windowed_by(TimeWindows(ms(50), grace=ms(10)))
    tumbling = tumbling.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    tumbling.count(store="tumbling").to_stream().to("tumbling-out")
    sliding = grouped.windowed_by(SlidingWindows(ms(20), grace=ms(10)))
    sliding = sliding.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    sliding.count(store="sliding").to_stream().to("sliding-out")


def emit_final_no_grace(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in", value=str).group_by_key()
    for name, windows in {
        "tumbling": TimeWindows(ms(20)),
        "hopping": TimeWindows(ms(30), advance=ms(10)),
        "sliding": SlidingWindows(ms(15)),
    }.items():
        final = grouped.windowed_by(windows).emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
        final.count(store=name).to_stream().to(f"{name}-out")
    sessions = grouped.windowed_by(SessionWindows(ms(10))).emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    sessions.count(store="session").to_stream().to("session-out")


SCENARIOS = {
    "emit_final_no_grace": emit_final_no_grace,
    "sliding_aggregate_grace_0": sliding_aggregate_grace_0,
    "sliding_count_early": sliding_count_early,
    "sliding_reduce_rekeyed": sliding_reduce_rekeyed,
    "emit_final_tumbling": emit_final_tumbling,
    "emit_final_hopping": emit_final_hopping,
    "emit_final_sliding": emit_final_sliding,
    "emit_final_session": emit_final_session,
    "emit_final_default_retention": emit_final_default_retention,
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
