"""Topologies of suppressed tables whose texts are in `describe/`."""

from __future__ import annotations

from datetime import timedelta

from describe_cases import always, both, dsl, pair, same

from headrace import BufferConfig, StreamsBuilder, Suppressed, TimeWindows


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


@dsl
def windowed_suppress(builder: StreamsBuilder) -> None:
    first = builder.stream("in").group_by_key().windowed_by(TimeWindows(ms(100), grace=ms(10))).count()
    first.suppress(Suppressed.until_window_closes(BufferConfig.unbounded())).to_stream().to("out")
    windowed = builder.stream("in2").group_by_key().windowed_by(TimeWindows(ms(100)))
    until = Suppressed.until_time_limit(ms(50), BufferConfig.max_records(10))
    windowed.reduce(both, name="red", store="rs").suppress(until, name="sup").to_stream().to("out2")


@dsl
def suppress_chains(builder: StreamsBuilder) -> None:
    soon = Suppressed.until_time_limit(ms(10), BufferConfig.max_records(1))
    table = builder.table("in").filter(always).suppress(soon)
    table.map_values(same, store="mv").to_stream().to("a")
    table.join(builder.table("other"), join=both).to_stream().to("b")
    builder.stream("s").join(table, join=both).to("c")
    table.group_by(pair).count().to_stream().to("d")
    table.suppress(soon, name="again").filter(always).left_join(table, join=both).to_stream().to("e")
