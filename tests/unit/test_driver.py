"""The test driver's own face."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from headrace import (
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    Serdes,
    SessionWindows,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
    Windowed,
    key_value_store,
)
from headrace.errors import (
    CallbackError,
    InvalidArgumentError,
    LogError,
    MissingSerdeError,
    ProcessingError,
    StoreError,
    UnknownNodeError,
)
from headrace.state import ValueAndTimestamp
from headrace.testing import TopologyTestDriver


def copying() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).to("out")
    return builder.build()


def counting() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by(lambda k, v: v, key=str).count(store="n").to_stream().to("out")
    return builder.build()


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(copying(), initial_wall_clock_time=1000) as made:
        yield made


def test_a_record_goes_all_the_way_before_pipe_returns() -> None:
    with TopologyTestDriver(counting()) as driver:
        driver.input("in").pipe("k", "word", timestamp=5)
        assert driver.output("out").read_record() == Record("word", 1, 5)


def test_records_without_a_timestamp_get_the_topics_own_time(driver: TopologyTestDriver) -> None:
    topic = driver.input("in", auto_advance=timedelta(milliseconds=10))
    topic.pipe("a", "1")
    topic.pipe("a", "2")
    topic.pipe("a", "3", timestamp=7)
    topic.advance_time(timedelta(seconds=1))
    topic.pipe("a", "4")
    driver.input("in", start=50).pipe("a", "5")
    assert [r.timestamp for r in driver.output("out").read_records()] == [1000, 1010, 7, 2020, 50]


def test_times_may_be_datetimes_with_a_zone(driver: TopologyTestDriver) -> None:
    driver.input("in").pipe("a", "1", timestamp=datetime(1970, 1, 1, 0, 0, 2, 500_000, tzinfo=UTC))
    assert driver.output("out").read_record().timestamp == 2500
    with pytest.raises(InvalidArgumentError, match="without a time zone"):
        driver.input("in").pipe("a", "1", timestamp=datetime(1970, 1, 1))
    with pytest.raises(InvalidArgumentError, match="milliseconds since the epoch or a datetime"):
        driver.input("in").pipe("a", "1", timestamp="now")  # type: ignore[arg-type]


def test_lists_of_records_pairs_and_values(driver: TopologyTestDriver) -> None:
    topic, output = driver.input("in"), driver.output("out")
    topic.pipe_record_list([Record("a", "1", 1, (("h", b"x"),)), Record("b", "2", 2)])
    assert output.read_records() == [Record("a", "1", 1, (("h", b"x"),)), Record("b", "2", 2)]
    topic.pipe_key_value_list([("a", "1"), ("b", "2")], start=5, advance=timedelta(milliseconds=3))
    assert [(r.key, r.timestamp) for r in output.read_records()] == [("a", 5), ("b", 8)]
    topic.pipe_value_list(["x", "y"])
    assert output.read_key_values() == [(None, "x"), (None, "y")]
    topic.pipe_value("z")
    assert output.read_value() == "z"


def test_headers_are_bytes_or_text(driver: TopologyTestDriver) -> None:
    driver.input("in").pipe("a", "1", headers={"t": "text", "b": b"\x00", "n": None})
    driver.input("in").pipe("a", "2", headers=[("t", "1"), ("t", "2")])
    first, second = driver.output("out").read_records()
    assert first.headers == (("t", b"text"), ("b", b"\x00"), ("n", None))
    assert second.headers == (("t", b"1"), ("t", b"2"))


def test_an_output_is_read_once_oldest_first(driver: TopologyTestDriver) -> None:
    driver.input("in").pipe_key_value_list([("a", "1"), ("b", "2"), ("a", "3"), ("c", "4")])
    output = driver.output("out")
    assert (output.queue_size(), output.is_empty()) == (4, False)
    assert output.read_value() == "1"
    assert output.read_key_value() == ("b", "2")
    assert output.read_key_values_to_map() == {"a": "3", "c": "4"}
    assert (output.queue_size(), output.is_empty()) == (0, True)
    assert output.read_values() == []
    with pytest.raises(LogError, match="there is no record left in `out`; topics written so far: `out`"):
        output.read_record()


def test_the_names_of_kafka_streams_are_there_too(driver: TopologyTestDriver) -> None:
    topic = driver.create_input_topic("in", str, str)
    topic.pipe_input("a", "1")
    output = driver.create_output_topic("out", str, str)
    assert output.get_queue_size() == 1
    assert output.read_key_values_to_list() == [("a", "1")]
    assert output.read_values_to_list() == []
    assert output.read_records_to_list() == []


def test_topics_that_the_topology_does_not_know_are_refused(driver: TopologyTestDriver) -> None:
    with pytest.raises(
        UnknownNodeError, match="no source of this topology reads the topic `inn`; it reads: `in`"
    ):
        driver.input("inn")
    with pytest.raises(
        UnknownNodeError, match=r"no sink of this topology writes to the topic `oout`; .*: `out`"
    ):
        driver.output("oout")


@dataclass
class Order:
    user: str
    amount: int


def test_serdes_are_those_of_the_topology_unless_given() -> None:
    builder = StreamsBuilder()
    builder.stream("orders", key=int, value=Order).map_values(lambda o: o.amount, value=int).to("amounts")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("orders").pipe(7, Order("ann", 3))
        assert driver.output("amounts").read_key_value() == (7, 3)
        driver.input("orders", value=str).pipe(7, '{"user": "bob", "amount": 4}')
        assert driver.output("amounts", value=Serdes.bytes()).read_value() == b"\0\0\0\0\0\0\0\x04"


def test_a_topic_without_a_serde_fails_when_the_driver_starts() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with pytest.raises(MissingSerdeError, match="nothing says how a value in `in` is read") as raised:
        TopologyTestDriver(builder.build())
    assert raised.value.node == "KSTREAM-SOURCE-0000000000"
    assert "pass `value=` with its type, or set `default_value`" in str(raised.value)
    assert raised.value.origin is not None
    assert raised.value.origin.file == __file__
    with TopologyTestDriver(builder.build(), StreamsConfig(application_id="a", default_value=int)) as driver:
        driver.input("in").pipe("k", 1)
        assert driver.output("out").read_value() == 1


def test_internal_topics_are_captured_under_their_full_names() -> None:
    with TopologyTestDriver(counting(), StreamsConfig(application_id="app")) as driver:
        assert driver.produced_topic_names() == frozenset()
        driver.input("in").pipe("k", "word", timestamp=5)
        names = {"app-n-repartition", "app-n-changelog", "out"}
        assert driver.produced_topic_names() == names
        assert driver.output("app-n-repartition").read_record() == Record("word", "word", 5)
        assert driver.output("app-n-changelog").read_record() == Record("word", 1, 5)


def test_a_topic_that_is_written_and_read_loops_back() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).map_values(lambda v: v + "!", value=str).to("middle")
    builder.stream("middle", value=str).map_values(lambda v: v + "?", value=str).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("in").pipe("k", "v")
        assert driver.output("middle").read_value() == "v!"
        assert driver.output("out").read_value() == "v!?"


class Ticks(Processor[str, str, str, str]):
    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        every = timedelta(seconds=10)
        context.schedule(every, PunctuationType.WALL_CLOCK_TIME, self.tick)

    def tick(self, time: int) -> None:
        now = self.context.current_system_time_ms()
        self.context.forward(Record("tick", str(now), time))

    def process(self, record: Record[str, str]) -> None:
        seen = self.context.get_state_store("seen")
        seen.put(record.key, record.value)


def ticking() -> Topology:
    builder = StreamsBuilder()
    store = key_value_store("seen", key=str, value=str)
    builder.stream("in", value=str).process(Ticks, stores=[store], value=str).to("out")
    return builder.build()


def test_the_wall_clock_moves_only_when_told_to() -> None:
    with TopologyTestDriver(ticking(), initial_wall_clock_time=0) as driver:
        driver.input("in").pipe("k", "v", timestamp=1_000_000)
        assert driver.output("out").is_empty()
        driver.advance_wall_clock_time(timedelta(seconds=9))
        assert driver.output("out").is_empty()
        driver.advance_wall_clock_time(timedelta(seconds=25))
        assert driver.output("out").read_records() == [Record("tick", "34000", 34000)]
        with pytest.raises(InvalidArgumentError, match="`advance` must be zero or more, got -0:00:01"):
            driver.advance_wall_clock_time(timedelta(seconds=-1))


def test_a_restart_keeps_stores_and_times_and_makes_processors_anew() -> None:
    with TopologyTestDriver(ticking(), initial_wall_clock_time=0) as driver:
        driver.input("in").pipe("k", "v")
        driver.advance_wall_clock_time(timedelta(seconds=9))
        driver.restart()
        assert driver.store("seen").get("k") == "v"
        driver.advance_wall_clock_time(timedelta(seconds=1))
        assert driver.output("out").read_value() == "10000", "still due at ten seconds"


def test_a_processors_plain_store_logs_the_time_of_the_record() -> None:
    with TopologyTestDriver(ticking(), StreamsConfig(application_id="app")) as driver:
        driver.input("in").pipe("k", "v", timestamp=123)
        assert driver.output("app-seen-changelog").read_record() == Record("k", "v", 123)


def test_stores_are_read_with_plain_values_or_with_timestamps() -> None:
    with TopologyTestDriver(counting()) as driver:
        driver.input("in").pipe("k", "word", timestamp=5)
        assert driver.store("n").get("word") == 1
        assert list(driver.get_key_value_store("n").all()) == [("word", 1)]
        assert driver.get_timestamped_key_value_store("n").get("word") == ValueAndTimestamp(1, 5)
        assert set(driver.get_all_state_stores()) == {"n"}
        with pytest.raises(StoreError, match="there is no store `m`; the topology has: `n`"):
            driver.store("m")
        with pytest.raises(
            StoreError, match="the store `n` is a `TimestampedKeyValueStore`, not a `SessionStore`"
        ):
            driver.get_session_store("n")


def test_a_test_may_fill_a_store() -> None:
    with TopologyTestDriver(counting()) as driver:
        driver.store("n").put("word", 41)
        driver.input("in").pipe("k", "word", timestamp=5)
        assert driver.output("out").read_value() == 42
        store = driver.store("n")
        assert store.put_if_absent("word", 1) == 42
        assert store.delete("word") == 42
        store.put_all([("a", 1), ("b", 2), ("c", 3)])
        assert list(store.range("a", "b")) == [("a", 1), ("b", 2)]
        assert list(store.reverse_range("b")) == [("c", 3), ("b", 2)]
        assert next(store.reverse_all()) == ("c", 3)
        assert store.approximate_num_entries() == 3


def test_window_and_session_stores() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by_key()
    grouped.windowed_by(TimeWindows(timedelta(milliseconds=10))).count(store="windows")
    grouped.windowed_by(SessionWindows(timedelta(milliseconds=10))).count(store="sessions")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("in").pipe("k", "v", timestamp=3)
        windows = driver.get_window_store("windows")
        assert windows.fetch("k", 0) == 1
        assert list(windows.fetch("k", 0, 9)) == list(windows.backward_fetch("k", 0, 9)) == [(0, 1)]
        rows = [(Windowed("k", 0, 10), 1)]
        assert list(windows.all()) == list(windows.fetch_all(0, 9)) == rows
        assert list(windows.fetch_range("a", "z", 0, 9)) == rows
        timestamped = driver.get_timestamped_window_store("windows")
        assert timestamped.fetch("k", 0) == ValueAndTimestamp(1, 3)
        windows.put("k", 9, 0)
        assert timestamped.fetch("k", 0) == ValueAndTimestamp(9, -1)
        assert list(driver.get_session_store("sessions").fetch("k")) == [(Windowed("k", 3, 3), 1)]


def test_a_closed_driver_still_shows_what_was_written_but_not_its_stores() -> None:
    with TopologyTestDriver(counting()) as driver:
        driver.input("in").pipe("k", "word")
        store = driver.store("n")
    assert driver.output("out").read_value() == 1
    with pytest.raises(StoreError, match="closed"):
        store.get("word")


def test_a_global_table_is_filled_at_once_and_read_by_processors() -> None:
    class Look(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            found = self.context.get_state_store("rates").get(record.key)
            self.context.forward(record.with_value(str(found and found.value)))

    builder = StreamsBuilder()
    builder.global_table("fx", value=str, store="rates")
    builder.stream("in", value=str).process(Look, value=str).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input("fx").pipe("k", "1.5")
        driver.input("fx").pipe(None, "dropped")
        driver.input("in").pipe("k", "v")
        assert driver.output("out").read_value() == "1.5"
        assert driver.store("rates").get("k") == "1.5"


def test_a_global_table_is_changed_by_its_topic_only() -> None:
    class Put(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            self.context.get_state_store("rates").put(record.key, record.value)

    builder = StreamsBuilder()
    builder.global_table("fx", value=str, store="rates")
    builder.stream("in", value=str).process(Put, value=str).to("out")
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(CallbackError) as raised:
        driver.input("in").pipe("k", "v")
    assert "`put` is refused: the global store `rates` is changed by its topic only" in str(raised.value)


def test_a_driver_needs_neither_spark_nor_kafka_nor_arrow() -> None:
    program = (
        "import sys, headrace.testing\n"
        "from headrace import StreamsBuilder\n"
        "builder = StreamsBuilder()\n"
        "builder.stream('in', value=str).group_by_key().count().to_stream().to('out')\n"
        "with headrace.testing.TopologyTestDriver(builder.build()) as driver:\n"
        "    for n in range(10): driver.input('in').pipe('k', 'v')\n"
        "    assert driver.output('out').read_values() == list(range(1, 11))\n"
        "heavy = {'pyspark', 'pyarrow', 'confluent_kafka', 'numpy', 'pandas', 'lmdb'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_topology_that_feeds_itself_for_ever_is_told_so() -> None:
    """Kafka Streams' own driver goes round until its memory is full."""
    builder = StreamsBuilder()
    builder.stream("round", value=int).map_values(lambda n: n + 1, value=int).to("round")
    with TopologyTestDriver(builder.build()) as driver:
        driver.max_loops = 500
        with pytest.raises(
            ProcessingError, match=r"one record has led to 501 others in the topic `round`"
        ) as e:
            driver.input("round").pipe("a", 1)
        assert e.value.node == "KSTREAM-SINK-0000000002"
        assert e.value.origin is not None
        assert e.value.origin.file == __file__


def test_a_loop_with_a_way_out_ends() -> None:
    builder = StreamsBuilder()
    numbers = builder.stream("round", value=int)
    numbers.filter(lambda _, n: n < 300).map_values(lambda n: n + 1, value=int).to("round")
    numbers.filter(lambda _, n: n == 300).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.max_loops = 301
        driver.input("round").pipe("a", 1)
        driver.input("round").pipe("b", 1)
        assert driver.output("out").read_key_values() == [("a", 300), ("b", 300)]
