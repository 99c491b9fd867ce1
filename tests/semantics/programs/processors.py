"""The processors of programs: those of `conformance/src/ProgramMore.java`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from semantics.programs.functions import KEYS, tail, text

from headrace import Processor, ProcessorContext, PunctuationType, Record

Context = ProcessorContext[Any, Any]


class Counting(Processor[Any, Any, Any, Any]):
    """Counts by key, and tells all counts now and then; a count that can be divided by three is then forgotten."""

    def __init__(self, store: str, every: tuple[str, int] | None) -> None:
        self.store, self.every = store, every

    def init(self, context: Context) -> None:
        super().init(context)
        self.counts = context.get_state_store(self.store)
        if self.every is not None:
            kind, interval = self.every
            type_ = PunctuationType.STREAM_TIME if kind == "stream" else PunctuationType.WALL_CLOCK_TIME
            context.schedule(timedelta(milliseconds=interval), type_, self.tick)

    def tick(self, time: int) -> None:
        rows = list(self.counts.all())
        for key, count in rows:
            self.context.forward(Record(key, f"tick{count}", time))
        for key, count in rows:
            if count % 3 == 0:
                self.counts.delete(key)

    def process(self, record: Record[Any, Any]) -> None:
        if record.key is None:
            self.context.forward(record.with_value("nobody"))
            return
        count = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, count)
        key = KEYS["letter"](record.key, record.value)
        self.context.forward(record.with_key(key).with_value(tail(f"{count}/{text(record.value)}")))


class CountingValues(Processor[Any, Any, Any, Any]):
    """Counts the first letters of values; the first value with a letter is not passed on."""

    def __init__(self, store: str) -> None:
        self.store = store

    def init(self, context: Context) -> None:
        super().init(context)
        self.counts = context.get_state_store(self.store)

    def process(self, record: Record[Any, Any]) -> None:
        letter = text(record.value)[:1]
        before = self.counts.get(letter)
        self.counts.put(letter, (before or 0) + 1)
        if before is not None:
            self.context.forward(record.with_value(tail(f"{before}%{text(record.value)}")))
