"""Asynchronous calls: many under way, in order, within a time, and the same results in every host."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from semantics.batches import BatchHost
from semantics.hosts import CONFIG, Pipe, everywhere
from semantics.scenarios.common import ms

from headrace import (
    KStream,
    Processor,
    PunctuationType,
    Record,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    log_and_continue,
)
from headrace.errors import CallbackError, InvalidArgumentError
from headrace.testing import TopologyTestDriver

random = Random(5)


async def slowly(value: str | None) -> str:
    """Answers after a while, and not in the order in which it was asked."""
    await asyncio.sleep(random.random() / 500)
    return f"{value}!"


async def with_key(key: str | None, value: str | None) -> str:
    await asyncio.sleep(random.random() / 500)
    return f"{key}:{value}"


async def picky(value: str | None) -> str:
    await asyncio.sleep(random.random() / 500)
    if value is None or value.endswith("1"):
        raise ValueError(f"not {value}")
    return value


def built(apply: Callable[[KStream[str, str]], object]) -> Topology:
    builder = StreamsBuilder()
    apply(builder.stream("in", value=str))
    return builder.build()


def plain(stream: KStream[str, str]) -> None:
    stream.map_values_async(slowly, concurrency=3).to("out")


def keyed(stream: KStream[str, str]) -> None:
    stream.map_values_async(with_key, with_key=True).to("out")


def chained(stream: KStream[str, str]) -> None:
    stream.map_values_async(slowly).map_values_async(with_key, with_key=True, concurrency=2).to("out")


def merged(stream: KStream[str, str]) -> None:
    """Two ways to the same topic, one of which takes no time."""
    stream.merge(stream.map_values_async(slowly)).to("out")
    stream.map_values(lambda value: f"{value}?").to("out")


def both_slow(stream: KStream[str, str]) -> None:
    one, other = stream.map_values_async(slowly), stream.map_values_async(with_key, with_key=True)
    one.map_values_async(slowly).merge(other).to("out")
    other.merge(one).merge(stream).to("mixed")


def counted(stream: KStream[str, str]) -> None:
    """What is counted behind the calls is also joined with by records that make none."""
    table = stream.map_values_async(slowly).group_by_key().count(store="counts")
    stream.join(table, join=lambda value, count: f"{value}{count}").to("joined", value=str)
    table.to_stream().to("out", value=int)


def before_and_behind(stream: KStream[str, str]) -> None:
    """The calls depend on a table that their results are joined with."""
    table = stream.group_by_key().count(store="counts")
    counts = table.to_stream().map_values_async(slowly, value=str)
    counts.join(table, join=lambda value, count: f"{value}{count}").to("out", value=str)


def chosen_topics(stream: KStream[str, str]) -> None:
    stream.map_values_async(slowly).to(lambda key, value, metadata: f"out-{metadata.offset % 2}")
    stream.to("out-1")


def in_windows(stream: KStream[str, str]) -> None:
    once = stream.map_values_async(slowly).deduplicate(within=ms(5), store="seen")
    once.to("out")


class Last(Processor[str, str, str, str]):
    """Forwards what its context says, now and then from a punctuator."""

    def init(self, context: Any) -> None:
        super().init(context)
        context.schedule(ms(20), PunctuationType.STREAM_TIME, self.tell)

    def tell(self, now: int) -> None:
        self.context.forward(Record("time", f"{now}", now))

    def process(self, record: Record[str, str]) -> None:
        metadata = self.context.record_metadata
        offset = None if metadata is None else metadata.offset
        text = f"{record.value} {offset} {self.context.current_stream_time_ms()}"
        self.context.forward(record.with_value(text))


def punctuated(stream: KStream[str, str]) -> None:
    stream.map_values_async(slowly).process(Last, key=str, value=str).map_values_async(slowly).to("out")


def failing(stream: KStream[str, str]) -> None:
    stream.map_values_async(picky, name="picky").to("out")


TOPOLOGIES = (
    plain,
    keyed,
    chained,
    merged,
    both_slow,
    counted,
    before_and_behind,
    chosen_topics,
    in_windows,
    punctuated,
    failing,
)

records = st.lists(
    st.builds(
        Pipe,
        st.just("in"),
        st.sampled_from(["k1", "k2", None]),
        st.sampled_from(["a0", "b1", "c2", None]),
        st.integers(0, 80),
        st.sampled_from([(), (("h", b"1"),)]),
    ),
    max_size=25,
)


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda build: build.__name__)
@settings(max_examples=8, deadline=None)
@given(records=records)
def test_every_host_gives_what_one_call_at_a_time_gives(
    topology: Callable[..., Any], records: list[Pipe]
) -> None:
    config = StreamsConfig(
        application_id="hosts",
        default_value=str,
        processing_handler=log_and_continue,
        dead_letter_topic="dead" if topology is failing else None,
    )
    everywhere(built(topology), records, config=config)


def batch_of(
    values: int, topology: Topology, tmp_path: Any, config: StreamsConfig = CONFIG
) -> list[bytes | None]:
    host = BatchHost(topology, config, tmp_path)
    try:
        rows = [(b"k", f"v{number}".encode(), number, ()) for number in range(values)]
        taken = host.run([("in", rows)], lose_stores=False)
        return [value for columns in taken for value in columns.values]
    finally:
        host.close()


class Meeting:
    """Answers nobody before so many ask at once; counts how many did."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.inside = self.most = self.cancelled = 0
        self.threads: set[int] = set()

    async def __call__(self, value: str) -> str:
        self.threads.add(threading.get_ident())
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            while self.most < self.wanted:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.002)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.inside -= 1
        return value


def test_as_many_calls_as_allowed_are_under_way_at_once(tmp_path: Any) -> None:
    meeting = Meeting(7)
    found = batch_of(
        50, built(lambda s: s.map_values_async(meeting, concurrency=7, value=str).to("out")), tmp_path
    )
    assert found == [f"v{number}".encode() for number in range(50)]
    assert meeting.most == 7
    assert meeting.inside == 0
    assert threading.get_ident() not in meeting.threads


def test_chained_calls_overlap_too(tmp_path: Any) -> None:
    first, second = Meeting(4), Meeting(4)

    def build(stream: KStream[str, str]) -> None:
        half = stream.map_values_async(first, concurrency=4, value=str)
        half.map_values_async(second, concurrency=4, value=str).to("out")

    assert len(batch_of(30, built(build), tmp_path)) == 30
    assert (first.most, second.most) == (4, 4)


def test_a_failed_batch_cancels_what_is_under_way_and_nothing_is_written(tmp_path: Any) -> None:
    meeting = Meeting(1000)

    async def fail(value: str) -> str:
        if value == "v0":
            while meeting.inside < 3:
                await asyncio.sleep(0.001)
            raise ValueError("no")
        return await meeting(value)

    topology = built(lambda s: s.map_values_async(fail, concurrency=4, name="ask").to("out"))
    with pytest.raises(CallbackError, match="ValueError: no") as raised:
        batch_of(10, topology, tmp_path)
    assert raised.value.node == "ask"
    assert raised.value.metadata is not None
    assert raised.value.metadata.offset == 0
    assert raised.value.origin is not None
    assert raised.value.origin.file == __file__
    # The loop ends with its last user, and does so only when all calls are over.
    gc.collect()
    assert meeting.inside == 0
    assert meeting.cancelled in (3, 4)  # The one that failed may have made room for another.


def line_of(function: Callable[..., Any]) -> int:
    return function.__code__.co_firstlineno


async def never(value: str) -> str:
    await asyncio.sleep(3600)
    return value


def test_a_call_that_takes_too_long_is_the_handlers(tmp_path: Any) -> None:
    topology = built(lambda s: s.map_values_async(never, timeout=ms(20), name="ask").to("out"))
    with pytest.raises(CallbackError, match=r"TimeoutError: no answer within 0:00:00\.020000") as raised:
        batch_of(2, topology, tmp_path)
    assert raised.value.origin == (__file__, line_of(never) + 1)
    config = StreamsConfig(application_id="app", processing_handler=log_and_continue)
    assert batch_of(2, topology, tmp_path / "again", config) == []


async def stubborn(value: str) -> str:
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        await asyncio.sleep(0.2)
    return value


async def cancels_itself(value: str) -> str:
    raise asyncio.CancelledError


async def leaves(value: str) -> str:
    raise SystemExit(3)


def not_async(value: str) -> str:
    return value


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (stubborn, "TimeoutError"),
        (cancels_itself, "RuntimeError: the call cancelled itself"),
        (not_async, "takes an `async def` function, got one that returned 'v0'"),
    ],
)
def test_whatever_a_function_does_is_said(function: Any, message: str, tmp_path: Any) -> None:
    topology = built(lambda s: s.map_values_async(function, timeout=ms(20)).to("out", value=str))
    with pytest.raises(CallbackError, match=message):
        batch_of(1, topology, tmp_path)


def test_a_function_that_wants_to_end_the_process_may(tmp_path: Any) -> None:
    with pytest.raises(SystemExit):
        batch_of(1, built(lambda s: s.map_values_async(leaves).to("out")), tmp_path)


def test_the_driver_works_inside_a_loop_of_the_users_own() -> None:
    async def test() -> list[Any]:
        with TopologyTestDriver(built(plain), CONFIG) as driver:
            driver.input("in").pipe("k", "v")
            await asyncio.sleep(0)
            driver.input("in").pipe("k", "w")
            return driver.output("out").read_values()

    assert asyncio.run(test()) == ["v!", "w!"]


def loops() -> list[str]:
    gc.collect()
    return [thread.name for thread in threading.enumerate() if thread.name == "headrace-calls"]


def test_no_loop_is_left_behind() -> None:
    topology = built(plain)
    with TopologyTestDriver(topology, CONFIG) as one, TopologyTestDriver(topology, CONFIG) as other:
        assert loops() == []
        one.input("in").pipe("k", "v")
        other.input("in").pipe("k", "v")
        one.restart()
        one.input("in").pipe("k", "w")
        assert len(loops()) == 1
        assert one.output("out").read_values() == ["v!", "w!"]
    assert loops() == []


def test_a_driver_goes_on_after_a_failed_call() -> None:
    with TopologyTestDriver(built(failing), CONFIG) as driver:
        with pytest.raises(CallbackError):
            driver.input("in").pipe("k", "b1")
        driver.input("in").pipe("k", "c2")
        assert driver.output("out").read_values() == ["c2"]


def test_the_type_of_the_result_is_read_from_the_annotation() -> None:
    async def length(value: str) -> int:
        return len(value)

    def later(value: str) -> Awaitable[int]:
        return length(value)

    for function in (length, later):
        builder = StreamsBuilder()
        builder.stream("in", value=str).map_values_async(function).to("out")
        with TopologyTestDriver(builder.build()) as driver:
            driver.input("in").pipe("k", "four")
            assert driver.output("out").read_values() == [4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concurrency": 0}, "`concurrency` must be at least 1, got 0"),
        ({"timeout": timedelta(0)}, "`timeout` must be at least one millisecond"),
        ({"timeout": 3}, "`timeout` takes a timedelta"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message) as raised:
        built(lambda s: s.map_values_async(slowly, **options))
    assert __file__ in str(raised.value)
