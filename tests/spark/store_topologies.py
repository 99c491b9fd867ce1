"""Topologies with stores of the user's own; in a module, so that workers find their classes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from headrace import (
    Materialized,
    Processor,
    ProcessorContext,
    Record,
    StateStore,
    StreamsBuilder,
    Topology,
    custom_store,
    key_value_store,
    window_store,
)
from tests.spark.topologies import number


class Ranks(StateStore):
    """The easy way: everything is in the rows, ordered by score."""

    def add(self, name: str, score: int) -> int:
        """How many have more; of each name the highest score counts."""
        mine, old = name.encode(), self.rows.get(b"n" + name.encode())
        if old is None or int(old) < score:
            if old is not None:
                self.rows.delete(b"s%08d" % int(old) + mine)
            self.rows.put(b"n" + mine, b"%d" % score)
            self.rows.put(b"s%08d" % score + mine, b"")
        return sum(1 for _ in self.rows.range(b"s%08d" % (score + 1), b"t"))

    def best(self) -> list[tuple[int, str]]:
        return [(int(key[1:9]), key[9:].decode()) for key, _ in self.rows.prefix(b"s", reverse=True)]


class Bags(StateStore):
    """The free way: counters in memory, written when a commit comes, and made again from what was written."""

    def __init__(self) -> None:
        self.bags: dict[str, Counter[str]] = {}
        self._changed: set[str] = set()

    def restore(self, rows: Iterator[tuple[bytes, bytes]]) -> None:
        self.bags = {key.decode(): Counter(json.loads(value)) for key, value in rows}

    def add(self, key: str, item: str) -> str:
        bag = self.bags.setdefault(key, Counter())
        bag[item] += 1
        if sum(bag.values()) > 12:  # a full bag is thrown away
            del self.bags[key]
        self._changed.add(key)
        return "".join(f"{item}{count}" for item, count in sorted(bag.items()))

    def flush(self) -> None:
        for key in sorted(self._changed):
            bag = self.bags.get(key)
            self.rows.put(key.encode(), None if bag is None else json.dumps(bag, sort_keys=True).encode())
        self._changed.clear()


class Rank(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        above = self.context.get_state_store("ranks").add(record.key, number(None, record.value))
        self.context.forward(record.with_value(f"{record.value}: {above} above"))


class Bag(Processor[str, str, str, str]):
    """Has a total in memory, too, that it reads from a store when it begins: right only if it begins anew each time
    that the store may have changed behind its back."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        self._bags = context.get_state_store("bags")
        self._totals = context.get_state_store("totals")
        self._total = self._totals.get("total") or 0

    def process(self, record: Record[str, str]) -> None:
        self._total += number(None, record.value)
        self._totals.put("total", self._total)
        bag = self._bags.add(record.key, record.value[0])
        self.context.forward(record.with_value(f"{bag} {self._total}"))


def custom_stores() -> Topology:
    builder = StreamsBuilder()
    builder.add_state_store(custom_store("bags", Bags))
    words = builder.stream("in", value=str)
    words.process(Rank, stores=[custom_store("ranks", Ranks)], value=str).to("ranked")
    totals = key_value_store("totals", key=str, value=int)
    words.process(Bag, stores=["bags", totals], value=str).to("bagged")
    return builder.build()


class FailsOnce(Bag):
    """Raises once for each file that is in the folder, in the middle of a batch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def process(self, record: Record[str, str]) -> None:
        super().process(record)
        for file in self._folder.iterdir():
            file.unlink(missing_ok=True)
            raise OSError("a passing fault")


def failing_stores(folder: Path) -> Topology:
    builder = StreamsBuilder()
    totals = key_value_store("totals", key=str, value=int)
    words = builder.stream("in", value=str)
    stores = [custom_store("bags", Bags), totals]
    words.process(lambda: FailsOnce(folder), stores=stores, value=str).to("bagged")
    return builder.build()


class Latest(StateStore):
    """A global store: what its topic said last, and in which order the keys came."""

    def __init__(self) -> None:
        self.order: list[str] = []

    def restore(self, rows: Iterator[tuple[bytes, bytes]]) -> None:
        found = sorted((int(value.split()[0]), key.decode()) for key, value in rows)
        self.order = [key for _, key in found]

    def set(self, key: str, value: str) -> None:
        if key not in self.order:
            self.order.append(key)
        self.rows.put(key.encode(), f"{self.order.index(key)} {value}".encode())

    def get(self, key: str) -> str:
        found = self.rows.get(key.encode())
        return "nothing" if found is None else f"{found.decode()} of {len(self.order)}"


class SetLatest(Processor[str, str, Any, Any]):
    def process(self, record: Record[str, str]) -> None:
        self.context.get_state_store("latest").set(record.key, record.value)


class AskLatest(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        latest = self.context.get_state_store("latest")
        self.context.forward(record.with_value(latest.get(record.value[0])))


def global_custom_store() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("in", value=str).process(AskLatest, value=str)
    words.to("asked")
    topology = builder.build()
    return topology.add_global_store(
        custom_store("latest", Latest, logging=False),
        "table",
        source="latest-source",
        processor="latest-set",
        supplier=SetLatest,
        value=str,
    )


class Keep(Processor[str, str, Any, Any]):
    def process(self, record: Record[str, str]) -> None:
        self.context.get_state_store("names").put(record.key, record.value)


class Ask(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        name = self.context.get_state_store("names").get(record.key)
        self.context.metrics.add("asked")
        self.context.forward(record.with_value(f"{record.value} {name}"))


def read_only_store() -> Topology:
    topology = Topology().add_read_only_state_store(
        key_value_store("names", value=str),
        "table",
        source="names",
        processor="keep",
        supplier=Keep,
        value=str,
    )
    topology.add_source("words", "in", value=str).add_processor("ask", Ask, "words", stores=["names"])
    return topology.add_sink("out", "asked", "ask", value=str)


def builders_global_store() -> Topology:
    builder = StreamsBuilder()
    builder.add_global_store(key_value_store("names", value=str, logging=False), "table", Keep, value=str)
    builder.stream("in", value=str).process(Ask, value=str).to("asked")
    return builder.build()


def limited() -> Topology:
    """A table of few rows, and a window store in memory that is read in the order of time."""
    builder = StreamsBuilder()
    words = builder.stream("in", value=str)
    few = Materialized[str, int]("few", max_entries=3)
    words.group_by_key().count(store=few).to_stream().to("counted", value=int)
    recent = window_store(
        "recent", size=timedelta(milliseconds=10), retention=timedelta(minutes=5), value=str, persistent=False
    )
    words.process(Recent, stores=[recent], value=str).to("recent")
    return builder.build()


class Recent(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        recent, at = self.context.get_state_store("recent"), record.timestamp // 10 * 10
        recent.put(record.key, record.value, at)
        found = recent.fetch_all(max(0, at - 100), at)
        self.context.forward(record.with_value(" ".join(f"{w.start}/{w.key}/{value}" for w, value in found)))
