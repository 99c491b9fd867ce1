"""Several grouped streams in one aggregate."""

from __future__ import annotations

from semantics.scenarios.common import letter, ms, text

from headrace import CogroupedKStream, SessionWindows, SlidingWindows, StreamsBuilder, TimeWindows


def _tail(aggregate: str) -> str:
    return aggregate[-24:]


def _word(key: object, value: object, so_far: str) -> str:
    return so_far + text(value)


def _number(key: object, value: object, so_far: str) -> str:
    return f"{so_far}<{text(value)}>"


def _cogrouped(builder: StreamsBuilder) -> CogroupedKStream[str, str]:
    a = builder.stream("a", value=str).group_by_key()
    return a.cogroup(_word).cogroup(builder.stream("b", value=int).group_by_key(), _number)


def cogroup_plain(builder: StreamsBuilder) -> None:
    a = builder.stream("a", value=str).group_by_key()
    b = builder.stream("b", value=int).group_by_key()
    cogrouped = a.cogroup(lambda key, value, so_far: _tail(_word(key, value, so_far)), value=str)
    cogrouped = cogrouped.cogroup(b, lambda key, value, so_far: _tail(_number(key, value, so_far)))
    cogrouped.aggregate(str, store="agg").to_stream().to("out")


def cogroup_tumbling(builder: StreamsBuilder) -> None:
    windowed = _cogrouped(builder).windowed_by(TimeWindows(ms(100), grace=ms(40)))
    windowed.aggregate(str, store="agg").to_stream().to("out")


def cogroup_session(builder: StreamsBuilder) -> None:
    windowed = _cogrouped(builder).windowed_by(SessionWindows(ms(30), grace=ms(40)))
    windowed.aggregate(str, lambda key, left, right: f"{left}|{right}", store="agg").to_stream().to("out")


def cogroup_sliding(builder: StreamsBuilder) -> None:
    windowed = _cogrouped(builder).windowed_by(SlidingWindows(ms(40), grace=ms(30)))
    windowed.aggregate(str, store="agg").to_stream().to("out")


def cogroup_rekeyed(builder: StreamsBuilder) -> None:
    a = builder.stream("a", value=str).group_by(letter, key=str)
    b = builder.stream("b", value=str).group_by_key()
    cogrouped = a.cogroup(lambda key, value, so_far: _tail(_word(key, value, so_far)), value=str)
    cogrouped = cogrouped.cogroup(b, lambda key, value, so_far: _tail(_number(key, value, so_far)))
    cogrouped.aggregate(str, store="agg").to_stream().to("out")
    hopping = cogrouped.windowed_by(TimeWindows(ms(60), advance=ms(30), grace=ms(20)))
    hopping.aggregate(str, store="hops").to_stream().to("hopping")


SCENARIOS = {
    "cogroup_plain": cogroup_plain,
    "cogroup_tumbling": cogroup_tumbling,
    "cogroup_session": cogroup_session,
    "cogroup_sliding": cogroup_sliding,
    "cogroup_rekeyed": cogroup_rekeyed,
}
