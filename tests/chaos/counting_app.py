"""An application whose output shows every record that is lost, doubled or taken out of turn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headrace import SessionWindows, StreamsBuilder


@dataclass
class Totals:
    count: int
    total: int


def add(letter: str, value: str, totals: Totals) -> Totals:
    return Totals(totals.count + 1, totals.total + int(value[1:]))


builder = StreamsBuilder()
words = builder.stream("in", value=str)
words.group_by_key().count(store="counts").to_stream().to("counts", value=int)
(
    words.group_by_key()
    .windowed_by(SessionWindows(timedelta(milliseconds=30), grace=timedelta(milliseconds=50)))
    .reduce(lambda one, other: one + other, store="sessions")
    .to_stream()
    .to("sessions")
)
(
    words.group_by(lambda key, value: value[0])
    .aggregate(lambda: Totals(0, 0), add, value=Totals, store="totals")
    .to_stream()
    .to("totals", value=Totals)
)
topology = builder.build()
