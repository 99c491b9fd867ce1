"""Joins of two streams."""

from __future__ import annotations

from collections.abc import Callable

from semantics.scenarios.common import letter, ms, text

from headrace import JoinWindows, KStream, StreamsBuilder, TimeWindows


def _plus(left: object, right: object) -> str:
    return f"{text(left)}+{text(right)}"


def _sides(builder: StreamsBuilder) -> tuple[KStream[str, str], KStream[str, str]]:
    return builder.stream("left", value=str), builder.stream("right", value=str)


def inner(windows: JoinWindows) -> Callable[[StreamsBuilder], None]:
    def build(builder: StreamsBuilder) -> None:
        left, right = _sides(builder)
        left.join(right, windows=windows, join=_plus).to("out")

    return build


def left(windows: JoinWindows) -> Callable[[StreamsBuilder], None]:
    def build(builder: StreamsBuilder) -> None:
        left, right = _sides(builder)
        left.left_join(right, windows=windows, join=_plus).to("out")

    return build


def outer(windows: JoinWindows) -> Callable[[StreamsBuilder], None]:
    def build(builder: StreamsBuilder) -> None:
        left, right = _sides(builder)
        left.outer_join(right, windows=windows, join=_plus).to("out")

    return build


def self_join(builder: StreamsBuilder) -> None:
    stream = builder.stream("in", value=str)
    stream.join(stream, windows=JoinWindows(ms(30), grace=ms(20)), join=_plus).to("out")


def left_rekeyed(builder: StreamsBuilder) -> None:
    left, right = (
        builder.stream(topic, value=str).select_key(letter, key=str) for topic in ("left", "right")
    )

    def join(key: object, one: object, other: object) -> str:
        return f"{text(key)}:{_plus(one, other)}"

    left.left_join(
        right,
        windows=JoinWindows(ms(40), grace=ms(20)),
        join=join,
        with_key=True,
        name="j",
    ).to("out")


def join_chain(builder: StreamsBuilder) -> None:
    x, y, z = (builder.stream(topic, value=str) for topic in "xyz")
    windows = JoinWindows(ms(30), grace=ms(10))
    first = x.outer_join(y, windows=windows, join=_plus)
    first.to("first")
    second = first.join(z, windows=windows, join=lambda one, other: f"{one}*{other}", value=str)
    second.to("second")
    counts = second.group_by_key().windowed_by(TimeWindows(ms(100), grace=ms(50))).count(store="counts")
    counts.to_stream().to("out")


SCENARIOS = {
    "stream_stream_inner_symmetric": inner(JoinWindows(ms(50))),
    "stream_stream_inner_grace": inner(JoinWindows(ms(50), grace=ms(40))),
    "stream_stream_inner_asymmetric": inner(JoinWindows(before=ms(20), after=ms(80), grace=ms(30))),
    "stream_stream_left_symmetric": left(JoinWindows(ms(50))),
    "stream_stream_left_grace": left(JoinWindows(ms(50), grace=ms(40))),
    "stream_stream_outer_symmetric": outer(JoinWindows(ms(50))),
    "stream_stream_outer_asymmetric": outer(JoinWindows(before=ms(20), after=ms(80), grace=ms(30))),
    "stream_stream_outer_negative_before": outer(JoinWindows(before=ms(-10), after=ms(90), grace=ms(15))),
    "stream_stream_left_asymmetric": left(JoinWindows(before=ms(80), after=ms(10))),
    "stream_stream_left_rekeyed": left_rekeyed,
    "stream_stream_join_chain": join_chain,
    "stream_stream_self_join_optimization_none": self_join,
}
