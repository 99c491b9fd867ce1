"""The record cache, with several records in one commit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from semantics.scenarios.aggregates import group_by_key_count
from semantics.scenarios.common import ms, text

from headrace import (
    EmitStrategy,
    Materialized,
    Processor,
    Record,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
    Windowed,
    key_value_store,
    session_store,
    window_store,
)


def cache_aggregates(builder: StreamsBuilder) -> None:
    def reduce(so_far: int, value: int) -> Any:
        return None if value <= 0 else so_far * 2 + value

    grouped = builder.stream("in", value=int).group_by_key()
    grouped.count(store="counts").to_stream().to("out")
    grouped.reduce(reduce, store="red").to_stream().to("reduced")
    every = Materialized[str, str]("all", value=str, caching=False)
    grouped.aggregate(str, lambda k, v, a: f"{a},{v}"[-20:], store=every).to_stream().to("every")


def cache_full(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in", value=str).group_by_key()
    grouped.count(store="counts").to_stream().to("out")
    grouped.reduce(lambda a, b: a[0] + b, store="red").to_stream().to("reduced")


def cache_windows(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in", value=str).group_by_key()
    hops = grouped.windowed_by(TimeWindows(ms(100), advance=ms(40), grace=ms(50)))
    hops.count(store=Materialized("hops", retention=ms(100_000))).to_stream().to("hopping")
    visits = grouped.windowed_by(SessionWindows(gap=ms(30), grace=ms(200)))
    visits.count(store=Materialized("visits", retention=ms(100_000))).to_stream().to("sessions")


def cache_sliding(builder: StreamsBuilder) -> None:
    grouped = builder.stream("in", value=str).group_by_key()
    near = grouped.windowed_by(SlidingWindows(ms(60), grace=ms(80)))
    store = Materialized[str, str]("near", retention=ms(100_000))
    near.reduce(lambda a, b: (a + b)[-12:], store=store).to_stream().to("sliding")
    ended = grouped.windowed_by(TimeWindows(ms(50), grace=ms(20)))
    ended.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count(store="ended").to_stream().to("final")


def cache_tables(builder: StreamsBuilder) -> None:
    a = builder.table("a", value=int, store="ta")
    b = builder.table("b", value=int, store="tb")
    joined = a.outer_join(b, join=lambda x, y: f"{text(x)}+{text(y)}", value=str, store="j")
    joined.to_stream().to("joined")
    a.filter(lambda k, v: v % 2 == 0, store="even").to_stream().to("evens")
    a.map_values(lambda v: None if v == 1 else f"v{v}", value=str, store="m").to_stream().to("mapped")
    groups = a.group_by(lambda k, v: (f"g{v % 2}", v), key=str, value=int)
    groups.reduce(lambda x, y: x + y, lambda x, y: x - y, store="sum").to_stream().to("sums")


class Reads(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        key, value, time = record.key, record.value, record.timestamp
        if key is None:
            return
        kv, win, ses = (self.context.get_state_store(name) for name in ("kv", "win", "ses"))
        kv.put(key, value)
        win.put(key, value, time)
        ses.put(Windowed(key, time // 2, time), value)
        if value is not None and value.startswith("x"):
            kv.delete("A")
        found = [
            text(kv.get("B")),
            joined(kv.range("A", "C")),
            joined(kv.all()),
            joined(kv.prefix_scan("D")),
            joined(win.fetch(key, time - 40, time)),
            joined(win.fetch_all(time - 20, time + 20)),
            joined(ses.find_sessions(key, time - 30, time)),
        ]
        self.context.forward(record.with_value(" ".join(found)))


def joined(entries: Iterable[tuple[Any, str]]) -> str:
    return ",".join(value for _, value in entries)


def cache_processor_stores(builder: StreamsBuilder) -> Topology:
    topology = Topology()
    topology.add_source("source", "in", key=str, value=str)
    topology.add_processor("read", Reads, "source")
    topology.add_state_store(key_value_store("kv", key=str, value=str, caching=True), "read")
    kept = ms(100_000)
    topology.add_state_store(
        window_store("win", size=ms(10), retention=kept, key=str, value=str, caching=True), "read"
    )
    topology.add_state_store(session_store("ses", retention=kept, key=str, value=str, caching=True), "read")
    topology.add_sink("sink", "out", "read", key=str, value=str)
    return topology


SCENARIOS = {
    "group_by_key_count_cached": group_by_key_count,
    "cache_aggregates": cache_aggregates,
    "cache_full": cache_full,
    "cache_windows": cache_windows,
    "cache_sliding": cache_sliding,
    "cache_tables": cache_tables,
    "cache_processor_stores": cache_processor_stores,
}


def cached(size: int) -> StreamsConfig:
    return StreamsConfig(application_id="oracle", default_value=str, statestore_cache_max_bytes=size)


CONFIGS = {name: cached(420 if name == "cache_full" else 10_485_760) for name in SCENARIOS}
