"""Several punctuators fire in the order in which Kafka Streams fires them, also after restarts."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from headrace import Processor, ProcessorContext, PunctuationType, Record, Topology
from headrace.processor import Cancellable
from headrace.testing import TopologyTestDriver

CASES = json.loads((Path(__file__).parent / "fixtures" / "punctuators.json").read_text())


class Ticking(Processor[str, str, str, str]):
    """Follows commands: `s10` or `w10` schedules by stream time or wall clock, `@7` from there, `c2` cancels."""

    def __init__(self, first: list[str]) -> None:
        self._first = first
        self._all: list[Cancellable] = []

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        for command in self._first:
            self.run(command)

    def process(self, record: Record[str, str]) -> None:
        self.run(record.value)

    def run(self, command: str) -> None:
        if command.startswith("c"):
            number = int(command[1:])
            if number < len(self._all):
                self._all[number].cancel()
        elif command:
            name = str(len(self._all))
            interval, _, start = command[1:].partition("@")
            kind = PunctuationType.STREAM_TIME if command[0] == "s" else PunctuationType.WALL_CLOCK_TIME
            self._all.append(
                self.context.schedule(
                    timedelta(milliseconds=int(interval)),
                    kind,
                    lambda time: self.context.forward(Record(name, "", time)),
                    start=int(start) if start else None,
                )
            )


def follow(first: list[str], steps: list[Any], *, restart: bool) -> None:
    topology = Topology().add_source("in", "in", value=str).add_processor("p", lambda: Ticking(first), "in")
    topology.add_sink("out", "out", "p", value=str)
    with TopologyTestDriver(topology, initial_wall_clock_time=0) as driver:
        for *step, fired in steps:
            if restart:
                driver.restart()
            if len(step) == 1:
                driver.advance_wall_clock_time(timedelta(milliseconds=int(step[0])))
            else:
                driver.input("in").pipe("k", step[1], timestamp=step[0])
            records = driver.output("out").read_records()
            assert [[int(record.key), record.timestamp] for record in records] == fired, step


@pytest.mark.parametrize(("first", "steps"), CASES, ids=range(len(CASES)))
def test_punctuators_fire_as_in_kafka_streams(first: list[str], steps: list[Any]) -> None:
    follow(first, steps, restart=False)


@pytest.mark.parametrize(("first", "steps"), CASES, ids=range(len(CASES)))
def test_a_restart_changes_nothing(first: list[str], steps: list[Any]) -> None:
    # What records schedule or cancel ends with the processor: up to there.
    quiet = list(takewhile(lambda step: len(step) == 2 or not step[1], steps))
    follow(first, quiet, restart=True)


def test_there_is_something_to_restart() -> None:
    assert sum(len(list(takewhile(lambda step: len(step) == 2 or not step[1], c[1]))) for c in CASES) > 100
