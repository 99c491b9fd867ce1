"""Method by method: what Kafka Streams' test driver has, this one has under the same name in snake case."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from headrace import Record, StreamsBuilder
from headrace.errors import HeadraceError, InvalidArgumentError, LogError
from headrace.testing import TestInputTopic, TestOutputTopic, TestRecord, TopologyTestDriver

# The public methods of 4.3.1; stores that keep headers (KIP-1271) do not exist here.
ORIGINAL = {
    TopologyTestDriver: """metrics advance_wall_clock_time create_input_topic create_output_topic produced_topic_names
        get_all_state_stores get_state_store get_key_value_store get_timestamped_key_value_store
        get_versioned_key_value_store get_window_store get_timestamped_window_store get_session_store close""",
    TestInputTopic: "advance_time pipe_input pipe_record_list pipe_key_value_list pipe_value_list",
    TestOutputTopic: """read_value read_key_value read_record read_records_to_list read_key_values_to_map
        read_key_values_to_list read_values_to_list get_queue_size is_empty""",
}


@pytest.mark.parametrize("kind", ORIGINAL, ids=lambda kind: kind.__name__)
def test_every_method_of_the_original_is_there(kind: type) -> None:
    assert [name for name in ORIGINAL[kind].split() if not callable(getattr(kind, name, None))] == []


def echo() -> TopologyTestDriver:
    builder = StreamsBuilder()
    builder.stream("in", value=str).to("out", value=str)
    return TopologyTestDriver(builder.build(), initial_wall_clock_time=5)


def test_pipe_input_takes_what_the_original_takes() -> None:
    with echo() as driver:
        topic = driver.create_input_topic("in", str, str, start=100, auto_advance=timedelta(milliseconds=7))
        topic.pipe_input("a")
        topic.pipe_input("k", "b", 500)
        topic.pipe_input("c")
        topic.advance_time(timedelta(milliseconds=3))
        topic.pipe_input("d")
        topic.pipe_input(TestRecord("k", "e"))
        topic.pipe_input(TestRecord("f", timestamp=9))
        topic.pipe_key_value_list([("x", "1"), ("y", "2")])
        topic.pipe_value_list(["p", "q"], start=1000, advance=timedelta(milliseconds=50))
        topic.pipe_value_list(["r"])
        found = driver.create_output_topic("out", str, str).read_records_to_list()
    assert [(record.value, record.timestamp) for record in found] == [
        ("a", 100),
        ("b", 500),
        ("c", 107),
        ("d", 117),
        ("e", 124),
        ("f", 9),
        ("1", 131),
        ("2", 138),
        ("p", 1000),
        ("q", 1050),
        ("r", 145),
    ]


def test_pipe_input_refuses_the_rest() -> None:
    with echo() as driver, pytest.raises(InvalidArgumentError, match="got 4 arguments"):
        driver.input("in").pipe_input("a", "b", 1, 2)


def test_nulls_are_records_too() -> None:
    with echo() as driver:
        driver.input("in").pipe_input(None, "v", 1)
        driver.input("in").pipe_input("k", None, 2)
        driver.input("in").pipe_input(None)
        assert driver.output("out").read_key_values() == [(None, "v"), ("k", None), (None, None)]


def test_a_map_needs_keys() -> None:
    with echo() as driver:
        driver.input("in").pipe(None, "v")
        with pytest.raises(LogError, match="a record in `out` has none"):
            driver.output("out").read_key_values_to_map()


def test_a_topic_that_is_empty_or_was_never_written() -> None:
    with echo() as driver:
        nothing = driver.output("other", str, str)
        assert (nothing.is_empty(), nothing.get_queue_size(), nothing.read_values_to_list()) == (True, 0, [])
        with pytest.raises(LogError, match="no record left in `other`"):
            nothing.read_value()
        driver.input("in").pipe("k", "v")
        out = driver.output("out")
        assert (out.queue_size(), out.read_record()) == (1, Record("k", "v", 5))
        with pytest.raises(LogError, match="no record left in `out`"):
            out.read_key_value()


BACK = timedelta(milliseconds=-1)


@pytest.mark.parametrize(
    "go_back",
    [
        lambda driver: driver.input("in", auto_advance=BACK),
        lambda driver: driver.input("in").advance_time(BACK),
        lambda driver: driver.advance_wall_clock_time(BACK),
    ],
    ids=["auto_advance", "advance_time", "wall_clock"],
)
def test_time_never_goes_back(go_back: Callable[[TopologyTestDriver], object]) -> None:
    with echo() as driver, pytest.raises(InvalidArgumentError, match="must be zero or more"):
        go_back(driver)


def test_closing_twice_does_nothing_the_second_time() -> None:
    driver = echo()
    driver.input("in").pipe("k", "v")
    driver.close()
    driver.close()
    assert driver.output("out").read_values() == ["v"]
    with pytest.raises(HeadraceError, match="this driver is closed"):
        driver.input("in").pipe("k", "v")
    with pytest.raises(HeadraceError, match="this driver is closed"):
        driver.advance_wall_clock_time(timedelta(seconds=1))


def test_what_was_dropped_is_counted_by_node_and_reason() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by_key().count(name="count").to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("in").pipe("k", "v")
        driver.input("in").pipe(None, "v")
        assert driver.dropped_records() == {("count", "null key or value"): 1}
