"""Timestamp extractors: when a record happened, and what becomes of one that does not say."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headrace import (
    Record,
    StreamsBuilder,
    StreamsConfig,
    fail_on_invalid_timestamp,
    field_timestamp,
    log_and_skip_on_invalid_timestamp,
    use_partition_time_on_invalid_timestamp,
    wallclock_timestamp,
)
from headrace.errors import CallbackError
from headrace.record import RecordMetadata
from headrace.testing import TopologyTestDriver
from headrace.timestamps import TimestampExtractor

INVALID = -1


def times(*stamps: int, on_source: TimestampExtractor | None = None, **settings: Any) -> list[int]:
    """Of what comes out when records with these timestamps go in."""
    builder = StreamsBuilder()
    builder.stream("in", value=str, timestamp_extractor=on_source).to("out", value=str)
    config = StreamsConfig(application_id="app", **settings)
    with TopologyTestDriver(builder.build(), config, initial_wall_clock_time=42) as driver:
        for stamp in stamps:
            driver.pipe_bytes("in", b"k", b"v", stamp)
        return [record.timestamp for record in driver.output("out").read_records()]


@pytest.mark.parametrize("named", [False, True], ids=["by-default", "by-name"])
def test_a_record_without_a_valid_time_stops_the_application(named: bool) -> None:
    with pytest.raises(CallbackError, match="no valid timestamp, got -1") as raised:
        times(3, INVALID, on_source=fail_on_invalid_timestamp if named else None)
    assert raised.value.metadata == RecordMetadata("in", 0, 1)
    assert raised.value.node == "KSTREAM-SOURCE-0000000000"
    assert "test_timestamps.py" in str(raised.value), "the user's line"
    assert "log_and_skip_on_invalid_timestamp" in str(raised.value), "the fix"


def test_it_can_be_skipped() -> None:
    assert times(3, INVALID, 5, on_source=log_and_skip_on_invalid_timestamp) == [3, 5]


def test_it_can_get_the_time_of_its_partition() -> None:
    assert times(7, 3, INVALID, on_source=use_partition_time_on_invalid_timestamp) == [7, 3, 7]


def test_the_first_of_a_partition_has_no_time_to_get() -> None:
    with pytest.raises(CallbackError, match="the first of its partition"):
        times(INVALID, on_source=use_partition_time_on_invalid_timestamp)


def test_the_wall_clock_is_the_time_of_the_driver() -> None:
    assert times(7, INVALID, on_source=wallclock_timestamp) == [42, 42]


def test_the_configuration_has_one_for_sources_that_name_none() -> None:
    assert times(3, INVALID, default_timestamp_extractor=log_and_skip_on_invalid_timestamp) == [3]
    skipping = log_and_skip_on_invalid_timestamp
    assert times(3, on_source=skipping, default_timestamp_extractor=wallclock_timestamp) == [3]


def test_what_was_repartitioned_keeps_its_time() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", value=str, timestamp_extractor=lambda record, highest: record.timestamp + 1)
    stream.repartition(name="r").to("out", value=str)
    config = StreamsConfig(application_id="app", default_timestamp_extractor=wallclock_timestamp)
    with TopologyTestDriver(builder.build(), config, initial_wall_clock_time=42) as driver:
        driver.input("in").pipe("k", "v", timestamp=7)
        assert driver.output("out").read_record().timestamp == 8


@dataclass
class Order:
    at: int
    placed: str = ""


def test_a_field_of_a_value() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=Order, timestamp_extractor=field_timestamp("at")).to("out", value=Order)
    builder.table("rows", value=Order, timestamp_extractor=field_timestamp("at"), store="rows")
    builder.global_table("all", value=Order, timestamp_extractor=field_timestamp("at"), store="all")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("in").pipe("k", Order(5), timestamp=99)
        driver.input("rows").pipe("k", Order(6), timestamp=99)
        driver.input("all").pipe("k", Order(7), timestamp=99)
        assert driver.output("out").read_record().timestamp == 5
        assert driver.get_timestamped_key_value_store("rows").get("k") == (Order(6), 6)
        assert driver.get_timestamped_key_value_store("all").get("k") == (Order(7), 7)
        with pytest.raises(CallbackError, match="no valid timestamp"):
            driver.input("in").pipe("k", Order(-3))


def test_a_field_may_be_a_datetime_of_a_dict() -> None:
    moment = datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)
    extract = field_timestamp("at", on_invalid=log_and_skip_on_invalid_timestamp)
    assert extract(Record("k", {"at": moment}, 0), INVALID) == timedelta(seconds=2) // timedelta(
        milliseconds=1
    )
    assert extract(Record("k", {"at": moment.replace(tzinfo=None)}, 0), INVALID) == INVALID
    assert extract(Record("k", None, 0), INVALID) == INVALID
