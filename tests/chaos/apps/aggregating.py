"""Aggregating: counts, a sum under another key, a grouped table; and a processor that writes down what time it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headrace import Processor, PunctuationType, Record, StreamsBuilder, key_value_store

config = {"commit_interval": timedelta(milliseconds=1), "small_batch_records": 50}


@dataclass
class Totals:
    count: int
    total: int


def add(letter: str, value: str, totals: Totals) -> Totals:
    return Totals(totals.count + 1, totals.total + int(value[1:]))


class Census(Processor[str, str, str, str]):
    """Tells with each record what the clock says, and by the clock how many keys there are."""

    def init(self, context):
        super().init(context)
        self.keys = context.get_state_store("keys")
        context.schedule(timedelta(milliseconds=700), PunctuationType.WALL_CLOCK_TIME, self.tell)

    def process(self, record):
        self.keys.put(record.key, record.value)
        self.context.forward(record.with_value(f"{record.value} at {self.context.current_system_time_ms()}"))

    def tell(self, time):
        for key, _ in list(self.keys.all())[:2]:
            self.context.forward(Record(key, f"{len(list(self.keys.all()))} keys", time))


builder = StreamsBuilder()
words = builder.stream("in", value=str)
words.group_by_key().count(store="counts").to_stream().to("counts", value=int)
(
    words.group_by(lambda key, value: value[0])
    .aggregate(lambda: Totals(0, 0), add, value=Totals, store="totals")
    .to_stream()
    .to("totals", value=Totals)
)
(
    words.to_table(store="newest")
    .group_by(lambda key, value: (value[0], value), key=str, value=str)
    .count(store="letters")
    .to_stream()
    .to("letters", value=int)
)
words.process(Census, stores=[key_value_store("keys", value=str)], key=str, value=str).to("census", value=str)
topology = builder.build()
