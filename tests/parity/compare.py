"""Comparing what ran on Spark with what the test drivers made of the same input."""

from __future__ import annotations

import re
from collections import Counter

from semantics.cases import Row

from tests.parity.tasks import Placed
from tests.spark.harness import Rec


def rows_of(tasks: list[list[Row]], kind: str, *, queried: bool = False) -> list[Row]:
    """The rows of all tasks as one. Queries give values without their times, as in Kafka Streams."""
    if kind == "versioned":
        # All were asked the same; the one that has the key has the longest answer.
        return [max(answers, key=len) for answers in zip(*tasks, strict=True)]
    width = -1 if kind.startswith("timestamped_") and not queried else None
    return sorted((row[:width] for rows in tasks for row in rows), key=repr)


def without_zeros(rows: list[Row]) -> list[Row]:
    """See `same_tables`."""
    return [row for row in rows if row[-1] != 0]


PLACE = re.compile(rb"(-repartition[-/]\d+[@/])\d+")
"""Where a record stood in a repartition topic. On Spark there is none: its records are counted within the batch."""


def without_trace(record: Rec) -> Rec:
    """A record without what tells by which way it came: the stack trace in a dead letter, offsets of a shuffle."""
    headers = tuple(
        (name, value and PLACE.sub(rb"\1", value))
        for name, value in record.headers
        if name != "__streams.errors.stacktrace"
    )
    return record._replace(value=record.value and PLACE.sub(rb"\1", record.value), headers=headers)


def same_records(expected: list[Placed], found: dict[int, list[Rec]], where: str) -> None:
    """Partition by partition in order; records without a key may be in any of them."""
    for number, records in found.items():
        wanted = [record for place, record in expected if place == number]
        assert [record for record in records if record.key is not None] == wanted, f"{where}, {number}"
    loose = Counter(record for place, record in expected if place is None)
    assert Counter(r for records in found.values() for r in records if r.key is None) == loose, where


def same_tables(expected: list[Placed], found: dict[int, list[Rec]], where: str) -> None:
    """The last value of each key; records without one are of no table. A group that had a row for a moment only, on the
    way, is left with a count of zero.
    """
    wanted = {record.key: record.value for _, record in expected}
    last = {record.key: record.value for records in found.values() for record in records}
    for table in (wanted, last):
        for key in [key for key, value in table.items() if key is None or value in (None, bytes(8))]:
            del table[key]
    assert last == wanted, where
