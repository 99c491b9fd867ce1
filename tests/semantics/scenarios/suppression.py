"""Tables whose updates are held back."""

from __future__ import annotations

from semantics.scenarios.common import ms, text

from headrace import (
    BufferConfig,
    Materialized,
    Processor,
    Record,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
    log_and_continue,
)


def suppress_window_close_tumbling(builder: StreamsBuilder) -> None:
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(TimeWindows(ms(100), grace=ms(30)))
    counts = windowed.count(store="counts")
    counts.suppress(Suppressed.until_window_closes(BufferConfig.unbounded())).to_stream().to("out")


def suppress_time_limit_unbounded(builder: StreamsBuilder) -> None:
    counts = builder.stream("in", value=str).group_by_key().count(store="counts")
    counts.suppress(Suppressed.until_time_limit(ms(60), BufferConfig.unbounded())).to_stream().to("out")


def suppress_time_limit_max_records(builder: StreamsBuilder) -> None:
    counts = builder.stream("in", value=str).group_by_key().count(store="counts")
    few = BufferConfig.max_records(3).emit_early_when_full()
    counts.suppress(Suppressed.until_time_limit(ms(100), few)).to_stream().to("out")


def suppress_window_close_session(builder: StreamsBuilder) -> None:
    windows = SessionWindows(ms(40), grace=ms(20))
    counts = builder.stream("in", value=str).group_by_key().windowed_by(windows).count(store="counts")
    counts.suppress(Suppressed.until_window_closes()).to_stream().to("out")


def suppress_window_close_sliding(builder: StreamsBuilder) -> None:
    windows = SlidingWindows(ms(30), grace=ms(20))
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(windows)
    (
        windowed.reduce(lambda a, b: a + b, store="red")
        .map_values(lambda value: None if len(value) == 4 else value + "!", store=Materialized(value=str))
        .suppress(Suppressed.until_window_closes())
        .filter(lambda window, value: "a" in value)
        .to_stream()
        .to("out")
    )


def suppress_window_close_group_by(builder: StreamsBuilder) -> None:
    windows = TimeWindows(ms(60), advance=ms(20), grace=ms(30))
    buffer = BufferConfig.max_records(1000).with_max_bytes(100_000).shut_down_when_full()
    reduced = (
        builder.stream("in", value=int)
        .group_by_key()
        .windowed_by(windows)
        .reduce(lambda a, b: a + (b or 0), store="red")
    )
    final = reduced.filter(lambda window, value: value % 3 != 0).suppress(
        Suppressed.until_window_closes(buffer), name="calm"
    )
    final.to_stream().to("out")
    grouped = final.group_by(lambda window, value: (str(window.start % 100), value), key=str, value=int)
    grouped.reduce(lambda a, b: a + b, lambda a, b: a - b, store="sums").to_stream().to("sums-out")


def suppress_time_limit_max_bytes(builder: StreamsBuilder) -> None:
    table = builder.table("in", value=str)
    longer = table.map_values(lambda value: value * int(value[1:]) + "é", store=Materialized(value=str))
    longer.suppress(Suppressed.until_time_limit(ms(150), BufferConfig.max_bytes(250))).to_stream().to("out")


def suppress_time_limit_chain(builder: StreamsBuilder) -> None:
    windows = SessionWindows(ms(30), grace=ms(100))
    counts = builder.stream("in", value=str).group_by_key().windowed_by(windows).count(store="counts")
    first = counts.suppress(Suppressed.until_time_limit(ms(0), BufferConfig.unbounded()), name="first")
    few = BufferConfig.max_records(4).with_max_bytes(500)
    first.suppress(Suppressed.until_time_limit(ms(80), few), name="second").to_stream().to("out")


def suppress_buffer_settings(builder: StreamsBuilder) -> None:
    table = builder.table("in", value=int)
    four = BufferConfig.max_records(2).with_max_records(4)
    table.suppress(Suppressed.until_time_limit(ms(60), four), name="four").to_stream().to("four-out")
    unbound = BufferConfig.max_records(2).with_no_bound().with_logging_enabled({"segment.ms": "60000"})
    table.suppress(Suppressed.until_time_limit(ms(40), unbound), name="unbound").to_stream().to("unbound-out")


def suppress_full_continue(builder: StreamsBuilder) -> None:
    three = BufferConfig.max_records(3).shut_down_when_full()
    table = builder.table("in", value=int).suppress(Suppressed.until_time_limit(ms(60), three))
    table.to_stream().to("out")


def suppress_group_by(builder: StreamsBuilder) -> None:
    table = (
        builder.table("in", value=int)
        .filter(lambda key, value: value % 4 != 0)
        .suppress(Suppressed.until_time_limit(ms(70), BufferConfig.max_records(4)))
    )
    table.to_stream().to("out")
    table.filter(lambda key, value: value % 2 == 0).to_stream().to("even")
    grouped = table.group_by(lambda key, value: (f"g{value % 2}", value), key=str, value=int)
    (
        grouped.aggregate(
            str,
            lambda key, value, so_far: f"{so_far}+{value}"[-24:],
            lambda key, value, so_far: f"{so_far}-{value}"[-24:],
            store="agg",
        )
        .to_stream()
        .to("agg-out")
    )


def _plus(left: object, right: object) -> str:
    return f"{text(left)}+{text(right)}"


def suppress_joins(builder: StreamsBuilder) -> None:
    table = builder.table("in", value=str).suppress(
        Suppressed.until_time_limit(ms(60), BufferConfig.max_records(3))
    )
    other = builder.table("other", value=str)
    table.left_join(other, join=_plus, store="left").to_stream().to("left-out")
    table.outer_join(table.map_values(str.upper, value=str), join=_plus).to_stream().to("self-out")
    builder.stream("s", value=str).left_join(table, join=_plus).to("stream-out")


class _Where(Processor[str, int, str, str]):
    def process(self, record: Record[str, int]) -> None:
        topic, partition, offset = self.context.record_metadata or ("?", -1, -1)
        self.context.forward(record.with_value(f"{text(record.value)}/{topic}-{partition}@{offset}"))


def suppress_context(builder: StreamsBuilder) -> None:
    counts = (
        builder.stream("in", value=str)
        .group_by(lambda key, value: value[0], key=str, name="by-letter")
        .count(store="counts")
    )
    table = counts.suppress(Suppressed.until_time_limit(ms(50), BufferConfig.max_bytes(220)))
    table.to_stream().process(_Where, value=str).to("out")


SCENARIOS = {
    build.__name__: build
    for build in (
        suppress_window_close_tumbling,
        suppress_time_limit_unbounded,
        suppress_time_limit_max_records,
        suppress_window_close_session,
        suppress_window_close_sliding,
        suppress_window_close_group_by,
        suppress_time_limit_max_bytes,
        suppress_time_limit_chain,
        suppress_buffer_settings,
        suppress_full_continue,
        suppress_group_by,
        suppress_joins,
        suppress_context,
    )
}

CONFIGS = {
    "suppress_full_continue": StreamsConfig(
        application_id="oracle",
        default_value=str,
        processing_handler=log_and_continue,
        dead_letter_topic="dead",
    ),
}
