"""A small batch on one host: the reader runs the tasks of all stages itself, one after the other.

What is a Spark stage with a shuffle before it otherwise is a loop here, over the same rows and the same tasks. Their
stores are on this host, and a task goes on in whatever process comes next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headrace.spark.rows import DRIVER, Row
from headrace.spark.runtime import Runtime
from headrace.spark.stage import run_slot


def run_together(runtime: Runtime, made: Iterable[list[Row]]) -> Iterator[list[Row]]:
    """The rows for the driver that come of what a reader has made; `runtime.together` says so meanwhile."""
    runtime.together = True
    try:
        yield from _run(runtime, made)
    finally:
        runtime.together = False


def _run(runtime: Runtime, made: Iterable[list[Row]]) -> Iterator[list[Row]]:
    waiting: dict[int, dict[int, list[Row]]] = {}
    """Stage -> slot -> its rows."""

    def split(rows: list[Row]) -> list[Row]:
        for row in rows:
            if row.stage != DRIVER:
                waiting.setdefault(row.stage, {}).setdefault(row.slot, []).append(row)
        return [row for row in rows if row.stage == DRIVER]

    for rows in made:
        if done := split(rows):
            yield done
    for number in range(1, runtime.layout.stages + 1):
        slots = waiting.pop(number)
        for salt in runtime.salts:
            for rows in run_slot(runtime, number, slots[salt]):
                if done := split(rows):
                    yield done
