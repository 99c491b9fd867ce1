"""Stores of a limited size, stores that a topic fills, and several punctuators at once."""

from __future__ import annotations

from typing import Any

from semantics.scenarios.common import ms, text
from semantics.scenarios.reads import Asking, rows

from headrace import (
    Materialized,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    Topology,
    key_value_store,
)


def limited_table(builder: StreamsBuilder) -> None:
    few = Materialized[str, int]("few", max_entries=3)
    builder.stream("in", value=str).group_by_key().count(store=few).to_stream().to("out")


class Limited(Asking):
    def answer(self, store: Any, key: str, value: str | None, time: int) -> list[str]:
        if value is None:
            done = "deleted " + text(store.delete(key))
        elif value[0] == "a":
            done = "got " + text(store.get(key))
        elif value[0] == "b":
            done = "absent " + text(store.put_if_absent(key, value))
        else:
            store.put(key, value)
            done = "put"
        return [done, rows(store.all()), str(store.approximate_num_entries())]


def limited_store(builder: StreamsBuilder) -> None:
    store = key_value_store("store", key=str, value=str, max_entries=4)
    builder.stream("in", value=str).process(Limited, stores=[store], value=str).to("out")


class Keep(Processor[Any, Any, Any, Any]):
    def process(self, record: Record[Any, Any]) -> None:
        if record.key is not None:
            self.context.get_state_store("store").put(record.key, record.value)


class Ask(Asking):
    def answer(self, store: Any, key: str, value: str | None, time: int) -> list[str]:
        return [f"{text(value)} {text(store.get(key))}", rows(store.range("B", "C"))]


def read_only_store(builder: StreamsBuilder) -> Topology:
    store = key_value_store("store", key=str, value=str)
    topology = Topology().add_read_only_state_store(
        store, "table", source="names", processor="keep", supplier=Keep, value=str
    )
    topology.add_source("words", "in", value=str).add_processor("ask", Ask, "words")
    return topology.connect_processor_and_state_stores("ask", "store").add_sink(
        "out", "out", "ask", value=str
    )


def global_store_by_hand(builder: StreamsBuilder) -> None:
    store = key_value_store("store", key=str, value=str, logging=False)
    builder.add_global_store(store, "table", Keep, value=str)
    builder.stream("in", value=str).process(Ask, value=str).to("out")


def global_store_in_topology(builder: StreamsBuilder) -> Topology:
    store = key_value_store("store", key=str, value=str, logging=False)
    topology = Topology().add_global_store(
        store, "table", source="names", processor="keep", supplier=Keep, value=str
    )
    topology.add_source("words", "in", value=str).add_processor("ask", Ask, "words")
    return topology.add_sink("out", "out", "ask", value=str)


class Ticking(Processor[Any, Any, str, str]):
    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        for number, every in enumerate((10, 20, 10, 10, 5, 20)):
            self.tick(f"s{number}", every, PunctuationType.STREAM_TIME)
        for number, every in enumerate((30, 30, 15)):
            self.tick(f"w{number}", every, PunctuationType.WALL_CLOCK_TIME)

    def tick(self, name: str, every: int, kind: PunctuationType) -> None:
        self.context.schedule(ms(every), kind, lambda time: self.context.forward(Record(name, "tick", time)))

    def process(self, record: Record[Any, Any]) -> None:
        """Nothing but time."""


def many_punctuators(builder: StreamsBuilder) -> Topology:
    topology = Topology().add_source("src", "in", value=str).add_processor("p", Ticking, "src")
    return topology.add_sink("sink", "out", "p", value=str)


SCENARIOS = {
    "limited_table": limited_table,
    "limited_store": limited_store,
    "read_only_store": read_only_store,
    "global_store_by_hand": global_store_by_hand,
    "global_store_in_topology": global_store_in_topology,
    "many_punctuators": many_punctuators,
}
