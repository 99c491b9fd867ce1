"""Processors of a user's own: stores, headers, punctuators and the context."""

from __future__ import annotations

from typing import Any

from semantics.scenarios.common import ms, text

from headrace import (
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    Topology,
    key_value_store,
    window_store,
)
from headrace.state import ValueAndTimestamp

STREAM_TIME = PunctuationType.STREAM_TIME
WALL_CLOCK_TIME = PunctuationType.WALL_CLOCK_TIME

# Keys and values may be null, which the types of the API leave out.
Texts = Processor[Any, Any, Any, Any]
Context = ProcessorContext[Any, Any]


class KeyValue(Texts):
    def init(self, context: Context) -> None:
        super().init(context)
        self.kv = context.get_state_store("kv")

    def process(self, record: Record[Any, Any]) -> None:
        forward, kv = self.context.forward, self.kv
        if record.key is None:
            forward(record.with_key("none").with_value("v=" + text(record.value)), "sink2")
        elif record.value is None:
            forward(record.with_value("deleted:" + text(kv.delete(record.key))), "sink1")
        elif record.value[0] == "x":
            forward(record.with_value("absent:" + text(kv.put_if_absent(record.key, record.value))), "sink1")
        else:
            kv.put(record.key, ((kv.get(record.key) or "") + record.value)[-24:])
            forward(record.with_value(kv.get(record.key)))
            if record.value[0] == "c":
                found = ",".join(f"{k}={v}" for k, v in kv.range("B", "D"))
                back = ",".join(k for k, v in kv.reverse_all())
                forward(record.with_value(f"{found};{back}").with_timestamp(record.timestamp + 1000), "sink2")


def processor_kv_store(builder: StreamsBuilder) -> Topology:
    return (
        Topology()
        .add_source("src", "in", value=str)
        .add_processor("p", KeyValue, "src", stores=[key_value_store("kv", key=str, value=str)])
        .add_sink("sink1", "out", "p", value=str)
        .add_sink("sink2", "scan", "p", value=str)
    )


class AddHeader(Texts):
    def process(self, record: Record[Any, Any]) -> None:
        length = str(len(text(record.value))).encode()
        self.context.forward(record.with_headers((*record.headers, ("length", length))))


def process_adds_header(builder: StreamsBuilder) -> None:
    stream = builder.stream("in", value=str).process(AddHeader)
    stream.map_values(lambda v: text(v).upper(), value=str).to("out")


class WallClock(Texts):
    def init(self, context: Context) -> None:
        super().init(context)
        self.kv = context.get_state_store("kv")
        context.schedule(ms(100), WALL_CLOCK_TIME, self.dump)
        context.schedule(ms(250), WALL_CLOCK_TIME, self.clear)

    def dump(self, time: int) -> None:
        for key, count in self.kv.all():
            self.context.forward(Record(key, f"dump {count}", time))

    def clear(self, time: int) -> None:
        keys = [key for key, _ in self.kv.all()]
        for key in keys:
            self.kv.delete(key)
        self.context.forward(Record("clear", f"{len(keys)}@{time}", time))

    def process(self, record: Record[Any, Any]) -> None:
        self.kv.put(record.key, (self.kv.get(record.key) or 0) + 1)
        self.context.forward(record)


def processor_wall_clock_punctuator(builder: StreamsBuilder) -> None:
    builder.add_state_store(key_value_store("kv", key=str, value=int))
    builder.stream("in", value=str).process(WallClock, stores=["kv"]).to("out")


class Deduplicate(Texts):
    def init(self, context: Context) -> None:
        super().init(context)
        self.seen = context.get_state_store("seen")
        context.schedule(ms(40), STREAM_TIME, self.evict)

    def evict(self, time: int) -> None:
        for name, seen in list(self.seen.all()):
            if time - seen > 100:
                self.seen.delete(name)
                self.context.forward(Record("evict", name, time))

    def process(self, record: Record[Any, Any]) -> None:
        name = f"{text(record.key)}/{text(record.value)}"
        before = self.seen.get(name)
        self.seen.put(name, record.timestamp if before is None else max(before, record.timestamp))
        if before is None:
            self.context.forward(record)


def dedup_ttl_punctuator(builder: StreamsBuilder) -> None:
    builder.add_state_store(key_value_store("seen", key=str, value=int))
    builder.stream("in", value=str).process(Deduplicate, stores=["seen"]).to("out")


class Last(Texts):
    def process(self, record: Record[Any, Any]) -> None:
        last = self.context.get_state_store("last")
        if record.key is None or record.value is None:
            self.context.forward(record.with_value("skip"))
            return
        old = last.get(record.key)
        last.put(record.key, ValueAndTimestamp(record.value, record.timestamp))
        before = "first" if old is None else f"{old.value}@{old.timestamp}"
        self.context.forward(record.with_value(f"{before}>{record.value}"))


def process_values_store(builder: StreamsBuilder) -> None:
    builder.add_state_store(key_value_store("last", key=str, value=str, timestamped=True))
    stream = builder.stream("in", value=str).process_values(Last, stores=["last"], value=str)
    stream.to("out")
    stream.group_by_key().count(store="n").to_stream().to("counts")


class WindowFetch(Texts):
    def process(self, record: Record[Any, Any]) -> None:
        store: Any = self.context.get_state_store("w")
        key, time = record.key, record.timestamp
        if key is None:
            return
        store.put(key, record.value, time)
        one = text(store.fetch(key, time))
        forwards = "".join(f"{v}@{t} " for t, v in store.fetch(key, time - 100, time + 100))
        backwards = "".join(f"{t} " for t, v in store.backward_fetch(key, time - 100, time + 100))
        between = sorted(
            f"{window.key}{window.start}-{window.end}"
            for window, _ in store.fetch_range("A", "B", time - 30, time + 30)
        )
        count = len(list(store.fetch_all(time - 60, time + 60)))
        value = f"{one} | {forwards}| {backwards}| {','.join(between)} | {count}"
        self.context.forward(record.with_value(value))


def window_store_fetch(builder: StreamsBuilder) -> None:
    builder.add_state_store(window_store("w", size=ms(50), retention=ms(200), key=str, value=str))
    builder.stream("in", value=str).process(WindowFetch, stores=["w"]).to("out")


class ContextSeen(Texts):
    def init(self, context: Context) -> None:
        super().init(context)
        self.calls = 0
        context.schedule(ms(50), STREAM_TIME, self.fifty)
        self.other = context.schedule(ms(30), STREAM_TIME, self.thirty)

    def fifty(self, time: int) -> None:
        self.context.forward(Record("fifty", f"{time}{self.where()}", time))

    def thirty(self, time: int) -> None:
        self.calls += 1
        if self.calls == 3:
            self.other.cancel()
        self.context.forward(Record("thirty", f"{time}{self.where()}", time), "sink1")

    def where(self) -> str:
        context = self.context
        at = context.record_metadata
        place = "none" if at is None else f"{at.topic}-{at.partition}@{at.offset}"
        return f"/{place}/{context.current_stream_time_ms()}/{context.current_system_time_ms()}"

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record.with_value(text(record.value) + self.where()))


def processor_context(builder: StreamsBuilder) -> Topology:
    return (
        Topology()
        .add_source("src-a", "a", value=str)
        .add_source("src-b", "b", value=str)
        .add_processor("p", ContextSeen, ["src-a", "src-b"])
        .add_sink("sink1", "out1", "p", value=str)
        .add_sink("sink2", "out2", "p", value=str)
    )


SCENARIOS = {
    "processor_kv_store": processor_kv_store,
    "process_adds_header": process_adds_header,
    "processor_wall_clock_punctuator": processor_wall_clock_punctuator,
    "dedup_ttl_punctuator": dedup_ttl_punctuator,
    "process_values_store": process_values_store,
    "window_store_fetch": window_store_fetch,
    "processor_context": processor_context,
}
