"""Mistakes with the test driver and settings: one message each."""

from __future__ import annotations

import pytest
from mistake_topologies import S, made
from mistakes import Mistake, collector

from headrace import Streams, StreamsBuilder, StreamsConfig, TimeWindows, Topology
from headrace.errors import (
    ClosedStoreError,
    ConfigError,
    DeserializationError,
    InvalidArgumentError,
    InvalidDurationError,
    LogError,
    SerializationError,
    StoreError,
    UnknownNodeError,
)
from headrace.testing import TopologyTestDriver

MISTAKES: list[Mistake] = []
mistake = collector(MISTAKES)


@mistake(
    InvalidArgumentError,
    "a driver runs a `Topology`, got a `StreamsBuilder`: call `build()` on it",
)
def a_builder_for_a_driver() -> None:
    TopologyTestDriver(StreamsBuilder())  # here


@mistake(
    InvalidArgumentError,
    "settings are a `StreamsConfig`, got {'application.id': 'x'}: write `StreamsConfig(application_id=...)`",
)
def settings_in_a_dict() -> None:
    TopologyTestDriver(Topology(), {"application.id": "x"})  # here


@mistake(
    UnknownNodeError,
    "no source of this topology reads the topic `ni`; it reads: `in`",
)
def a_topic_that_nobody_reads() -> None:
    with made() as driver:
        driver.input("ni")  # here


@mistake(
    UnknownNodeError,
    "no sink of this topology writes to the topic `uot`; it writes to: `out`",
)
def a_topic_that_nobody_writes() -> None:
    with made() as driver:
        driver.output("uot")  # here


@mistake(
    StoreError,
    "there is no store `count`; the topology has: `counts`",
)
def a_store_that_the_topology_lacks() -> None:
    with made() as driver:
        driver.store("count")  # here


@mistake(
    StoreError,
    "the store `counts` is a `TimestampedKeyValueStore`, not a `SessionStore`: use its own "
    "getter, or `store`",
)
def a_store_of_another_kind() -> None:
    with made() as driver:
        driver.get_session_store("counts")  # here


@mistake(
    SerializationError,
    "the value cannot be piped into `in`: Serdes.string() writes `str`, got 5 of type `int`: "
    "convert it, or say the right type with `key=` or `value=`",
)
def a_value_of_another_type() -> None:
    with made() as driver:
        driver.input("in").pipe("a", 5)  # here


@mistake(
    SerializationError,
    "the key cannot be piped into `in`: Serdes.string() writes `str`, got 7 of type `int`: "
    "convert it, or say the right type with `key=` or `value=`",
)
def a_key_of_another_type() -> None:
    with made() as driver:
        driver.input("in").pipe(7, "a")  # here


@mistake(
    LogError,
    "there is no record left in `out`; topics written so far: none",
)
def reading_more_than_there_is() -> None:
    with made() as driver:
        driver.output("out").read_value()  # here


@mistake(
    InvalidArgumentError,
    "`timestamp` must not be negative, got -5: it is milliseconds since 1970",
)
def a_record_before_time() -> None:
    with made() as driver:
        driver.input("in").pipe("a", "b", timestamp=-5)  # here


@mistake(
    InvalidArgumentError,
    "`timestamp` is milliseconds since the epoch or a datetime, got 1.5",
)
def a_record_between_milliseconds() -> None:
    with made() as driver:
        driver.input("in").pipe("a", "b", timestamp=1.5)  # here


@mistake(
    InvalidDurationError,
    "`advance` must be zero or more, got -0:00:01",
)
def a_clock_that_goes_back() -> None:
    with made() as driver:
        driver.advance_wall_clock_time(-S)  # here


@mistake(
    InvalidDurationError,
    "`advance` takes a timedelta, got 5: write timedelta(seconds=5) or timedelta(milliseconds=5)",
)
def a_clock_that_goes_by_numbers() -> None:
    with made() as driver:
        driver.advance_wall_clock_time(5)  # here


@mistake(
    ClosedStoreError,
    "this driver is closed: pipe records before `close`, inside the `with` block",
)
def a_driver_that_is_closed() -> None:
    with made() as driver:
        topic = driver.input("in")
    topic.pipe("a", "b")  # here


@mistake(
    ClosedStoreError,
    "store `counts` is closed: it lives as long as its task or driver; get it again from the "
    "context, or ask before closing",
)
def a_store_of_a_closed_driver() -> None:
    with made() as driver:
        store = driver.store("counts")
    store.get("a")  # here


@mistake(
    ClosedStoreError,
    "store `counts` is closed: it lives as long as its task or driver; get it again from the "
    "context, or ask before closing",
)
def an_iterator_of_a_closed_driver() -> None:
    with made() as driver:
        driver.input("in").pipe("a", "b")
        rows = driver.store("counts").all()
    next(rows)  # here


@mistake(
    ConfigError,
    "`application_id` names topics and folders: at most 200 letters, digits, `.`, `_` and `-` only, got 'my app'",
)
def an_application_id_with_a_blank() -> None:
    StreamsConfig(application_id="my app")  # here


@mistake(
    ConfigError,
    "there is no setting `aplication_id`; did you mean `application_id`?",
)
def a_misspelt_setting() -> None:
    Streams(Topology(), aplication_id="shop")  # here


@mistake(
    ConfigError,
    "there is no setting `x`: `StreamsConfig` has those that there are",
)
def a_setting_that_resembles_none() -> None:
    Streams(Topology(), StreamsConfig(application_id="shop"), x=1)  # here


@mistake(
    ConfigError,
    "an application needs a name: pass `application_id=` or a `StreamsConfig`",
)
def no_application_id() -> None:
    Streams(Topology())  # here


@mistake(
    DeserializationError,
    "the value of a record in `out` is not what this test reads: Serdes.long() could not read b'hello': "
    "expected 8 bytes, got 5; it looks like text: was it written as `str`?; "
    "say the type that it has with `output(..., value=...)`",
)
def an_output_read_as_another_type() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("in").pipe("a", "hello")
        driver.output("out", value=int).read_value()  # here


@pytest.mark.parametrize("slip", MISTAKES, ids=str)
def test_the_message_says_what_where_and_how_to_mend_it(slip: Mistake) -> None:
    slip.check()


def test_a_window_store_that_is_read_like_another_says_how() -> None:
    builder = StreamsBuilder()
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(TimeWindows(S))
    windowed.count(store="counts")
    with TopologyTestDriver(builder.build()) as driver:
        store = driver.store("counts")
        with pytest.raises(AttributeError, match=r"a window store has no `get`: read it with `fetch\(key"):
            store.get("a")
