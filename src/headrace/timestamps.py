"""Timestamp extractors: when a record happened. By default that is the timestamp of the record itself.

An extractor is a function `(record, partition_time)` that returns milliseconds since the epoch; `partition_time` is the
highest time so far in the record's partition, -1 before the first. A record whose time is negative is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from headrace.record import Record

logger = logging.getLogger("headrace")

TimestampExtractor: TypeAlias = Callable[[Any, int], int]
"""(record, highest time seen in its partition) -> its timestamp; negative means: drop the record."""


def fail_on_invalid_timestamp(record: Record[Any, Any], partition_time: int) -> int:
    """The record's own timestamp; a negative one stops the application. The default.

    >>> fail_on_invalid_timestamp(Record("a", 1, 5), -1)
    5
    """
    if record.timestamp < 0:
        raise ValueError(
            f"the record has no valid timestamp, got {record.timestamp}: give the source "
            "`timestamp_extractor=log_and_skip_on_invalid_timestamp` or another one"
        )
    return record.timestamp


def log_and_skip_on_invalid_timestamp(record: Record[Any, Any], partition_time: int) -> int:
    """The record's own timestamp; a record with a negative one is dropped.

    >>> log_and_skip_on_invalid_timestamp(Record("a", 1, -1), 7)
    -1
    """
    if record.timestamp < 0:
        logger.warning("skipped a record whose timestamp is %s", record.timestamp)
    return record.timestamp


def use_partition_time_on_invalid_timestamp(record: Record[Any, Any], partition_time: int) -> int:
    """The record's own timestamp, or the highest time so far in its partition if that is negative.

    >>> use_partition_time_on_invalid_timestamp(Record("a", 1, -1), 7)
    7
    """
    if record.timestamp >= 0:
        return record.timestamp
    if partition_time < 0:
        raise ValueError(
            f"the record has no valid timestamp, got {record.timestamp}, and it is the first of its partition"
        )
    return partition_time


class WallclockTimestampExtractor:
    """The wall clock when the record is processed: in the test driver that of the driver, on Spark that of the batch.

    >>> from headrace import StreamsBuilder
    >>> from headrace.testing import TopologyTestDriver
    >>> builder = StreamsBuilder()
    >>> builder.stream("in", value=str, timestamp_extractor=wallclock_timestamp).to("out", value=str)
    >>> with TopologyTestDriver(builder.build(), initial_wall_clock_time=42) as driver:
    ...     driver.input("in").pipe("a", "x", timestamp=7)
    ...     driver.output("out").read_record().timestamp
    42
    """

    def __call__(self, record: Record[Any, Any], partition_time: int) -> int:
        """Only a task knows the time; where there is none, it is the record's own."""
        return record.timestamp


wallclock_timestamp: Final = WallclockTimestampExtractor()


class FieldTimestampExtractor:
    """A field of the value: milliseconds, or a datetime with a time zone. What is missing or invalid is left to
    `on_invalid`, which sees a record with the timestamp -1.

    >>> at = field_timestamp("at", on_invalid=use_partition_time_on_invalid_timestamp)
    >>> at(Record("a", {"at": 5}, 0), -1), at(Record("a", {}, 0), 9)
    (5, 9)
    """

    def __init__(self, field: str, on_invalid: TimestampExtractor) -> None:
        self.field = field
        self.on_invalid = on_invalid

    def __call__(self, record: Record[Any, Any], partition_time: int) -> int:
        value = record.value
        found = value.get(self.field) if isinstance(value, Mapping) else getattr(value, self.field, None)
        if isinstance(found, datetime) and found.tzinfo is not None:
            found = (found - datetime.fromtimestamp(0, found.tzinfo)) // timedelta(milliseconds=1)
        if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
            return found
        return self.on_invalid(record.with_timestamp(-1), partition_time)


def field_timestamp(
    field: str, *, on_invalid: TimestampExtractor = fail_on_invalid_timestamp
) -> FieldTimestampExtractor:
    """An extractor that reads a field of the value.

    >>> field_timestamp("created_at")(Record("a", {"created_at": 1000}, 0), -1)
    1000
    """
    return FieldTimestampExtractor(field, on_invalid)


def needs_the_past(extractor: TimestampExtractor | None) -> bool:
    """Whether it must see the records of a partition one after the other, in a task."""
    return extractor not in (None, fail_on_invalid_timestamp, log_and_skip_on_invalid_timestamp)
