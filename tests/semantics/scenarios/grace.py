"""Joins of streams with versioned tables that may be behind them."""

from __future__ import annotations

from semantics.scenarios.common import ms, text

from headrace import Materialized, Processor, Record, StreamsBuilder


def stream_table_grace_inner(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=str, store=Materialized("t", history_retention=ms(300)))
    stream = builder.stream("stream", value=str)
    stream.join(table, join=lambda a, b: f"{a}+{b}", value=str, name="j", grace=ms(60)).to("out")


class _Where(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        topic, _, offset = self.context.record_metadata or ("?", -1, -1)
        self.context.forward(record.with_value(f"{record.value}/{topic}@{offset}"))


def stream_table_grace_left(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=str, store=Materialized("t", history_retention=ms(200)))
    some = table.filter(lambda key, value: not value.endswith("0"))
    (
        builder.stream("stream", value=str)
        .left_join(some, join=lambda k, a, b: f"{k}{a}+{text(b)}", with_key=True, value=str, grace=ms(40))
        .process(_Where, value=str)
        .to("out")
    )


def stream_table_grace_rekeyed(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=str, store=Materialized("t", history_retention=ms(90)))
    rekeyed = builder.stream("stream", value=int).select_key(
        lambda key, value: None if value is None or value == 5 else "AB"[value % 2], key=str
    )
    rekeyed.join(table, join=lambda a, b: f"{a}+{b}", value=str, grace=ms(0)).to("none")
    rekeyed.join(table, join=lambda a, b: f"{a}+{b}", value=str, name="long", grace=ms(90)).to("long-out")


SCENARIOS = {
    build.__name__: build
    for build in (stream_table_grace_inner, stream_table_grace_left, stream_table_grace_rekeyed)
}
