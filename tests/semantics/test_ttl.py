"""Rows that run out: by the time of records and by the wall clock, in tables, in joins and in processors' stores."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from semantics.hosts import Outcome, Pipe, Step, Wait, everywhere
from semantics.scenarios.common import ms

from headrace import (
    Materialized,
    Processor,
    PunctuationType,
    Record,
    SessionWindows,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    key_value_store,
)
from headrace.errors import InvalidArgumentError
from headrace.state import memory_store
from headrace.testing import TopologyTestDriver

TTL = 20
WALL = PunctuationType.WALL_CLOCK_TIME


def rows(clock: PunctuationType = PunctuationType.STREAM_TIME, **settings: Any) -> Materialized[str, Any]:
    return Materialized("rows", ttl=ms(TTL), ttl_clock=clock, **settings)


def joined(clock: PunctuationType = PunctuationType.STREAM_TIME) -> Topology:
    """A table, what it sends on, and a stream that looks into it."""
    builder = StreamsBuilder()
    table = builder.table("table", value=str, store=rows(clock))
    table.to_stream().to("out")
    builder.stream("stream", value=str).left_join(table, join=lambda v, row: f"{v}-{row}").to(
        "joined", value=str
    )
    return builder.build()


class Model:
    """The rule in the simplest way: all rows are looked at, every time."""

    def __init__(self) -> None:
        self.time, self.wall = -1, 0
        self.rows: dict[str, tuple[str, int]] = {}
        self.out: list[tuple[str, str | None, int]] = []
        self.joined: list[tuple[str | None, str, int]] = []

    def step(self, step: Step, *, by_wall: bool) -> None:
        if isinstance(step, Wait):
            self.wall += step.milliseconds
            if by_wall:
                self.expire(self.wall)
            return
        self.expire(max(step.timestamp, self.wall) if by_wall else step.timestamp)
        if step.topic == "stream":
            row = self.rows.get(step.key, (None, 0))[0]
            if step.value is not None:
                self.joined.append((step.key, f"{step.value}-{row}", step.timestamp))
        elif step.key is not None:
            self.out.append((step.key, step.value, step.timestamp))
            if step.value is None:
                self.rows.pop(step.key, None)
            else:
                self.rows[step.key] = (step.value, step.timestamp)
        self.expire(self.time)

    def expire(self, now: int) -> None:
        self.time = max(self.time, now)
        over = sorted((t, k) for k, (_, t) in self.rows.items() if t < self.time - TTL)
        for timestamp, key in over:
            del self.rows[key]
            self.out.append((key, None, timestamp + TTL))


keys = st.sampled_from(["k1", "k2", "k3", None])
pipes = st.builds(
    Pipe, st.sampled_from(["table", "stream"]), keys, st.sampled_from(["a", "b", None]), st.integers(0, 120)
)
waits = st.builds(Wait, st.integers(1, 30))


def text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode()


def said(outcome: Outcome, topic: str) -> list[tuple[str | None, str | None, int]]:
    return [(text(key), text(value), time) for key, value, time, _ in outcome.outputs.get(topic, [])]


@pytest.mark.parametrize("clock", PunctuationType, ids=lambda clock: clock.name)
@settings(max_examples=40, deadline=None)
@given(steps=st.lists(pipes | waits, max_size=30))
def test_every_host_gives_what_the_rule_says(clock: PunctuationType, steps: list[Step]) -> None:
    model = Model()
    for step in steps:
        model.step(step, by_wall=clock is WALL)
    outcome = everywhere(joined(clock), steps, ["rows"])
    assert said(outcome, "out") == model.out
    assert said(outcome, "joined") == model.joined
    assert {key: tuple(found) for key, found in outcome.stores["rows"]} == model.rows


def letters(key: str, value: str) -> tuple[str, str]:
    return value, key


def counted(builder: StreamsBuilder) -> None:
    """How many live rows there are of each kind: what runs out is subtracted."""
    table = builder.table("table", value=str, store=rows())
    table.group_by(letters, key=str, value=str).count(store="counts").to_stream().to("counts", value=int)


def aggregated(builder: StreamsBuilder) -> None:
    builder.stream("table", value=str).group_by_key().count(store=rows()).to_stream().to("out", value=int)


def reduced(builder: StreamsBuilder) -> None:
    table = builder.stream("table", value=str).group_by_key().reduce(max, store=rows())
    table.filter(lambda key, value: value == "b", store="filtered").to_stream().to("out")


def cogrouped(builder: StreamsBuilder) -> None:
    one = builder.stream("table", value=str).group_by_key()
    other = builder.stream("stream", value=str).group_by_key()
    both = one.cogroup(lambda k, v, seen: seen + v, value=str).cogroup(
        other, lambda k, v, seen: f"{seen}|{v}"
    )
    both.aggregate(str, store=rows()).to_stream().to("out")


def derived(builder: StreamsBuilder) -> None:
    """Not the table itself but what is made of it runs out; its store has no name."""
    table = builder.table("table", value=str)
    mapped = table.map_values(lambda value: value and value * 2, value=str, store=Materialized(ttl=ms(TTL)))
    kept = mapped.filter(lambda key, value: True, store=Materialized("rows", ttl=ms(2 * TTL)))
    kept.to_stream().to("out")


def tables_joined(builder: StreamsBuilder) -> None:
    left = builder.table("table", value=str, store=rows())
    right = builder.stream("stream", value=str).to_table(store=Materialized(ttl=ms(2 * TTL)))
    pairs = left.outer_join(
        right, join=lambda a, b: f"{a}{b}", value=str, store=Materialized("p", ttl=ms(99))
    )
    pairs.to_stream().to("out")


class Remember(Processor[str, str, str, str]):
    """Tells what it has under a key, and all it has."""

    def process(self, record: Record[str, str]) -> None:
        store = self.context.get_state_store("rows")
        if record.key is None:
            return
        have = [f"{key}={value}" for key, value in store.all()]
        below = [key for key, _ in store.reverse_range(None, "k2")]
        text = f"{store.get(record.key)} {have} {below} {store.approximate_num_entries()}"
        self.context.forward(record.with_value(text))
        store.put(record.key, record.value)


def processed(builder: StreamsBuilder) -> None:
    store = key_value_store("rows", key=str, value=str, ttl=ms(TTL))
    builder.stream("table", value=str).process(Remember, stores=[store], value=str).to("out")


def in_memory(builder: StreamsBuilder) -> None:
    table = builder.table("table", value=str, store=rows(persistent=False, logging=True))
    table.to_stream().to("out")


TOPOLOGIES = (counted, aggregated, reduced, cogrouped, derived, tables_joined, processed, in_memory)


def built(build: Callable[[StreamsBuilder], None]) -> Topology:
    builder = StreamsBuilder()
    build(builder)
    return builder.build()


@pytest.mark.parametrize("build", TOPOLOGIES, ids=lambda build: build.__name__)
@settings(max_examples=12, deadline=None)
@given(steps=st.lists(pipes, max_size=25))
def test_all_hosts_agree(build: Callable[[StreamsBuilder], None], steps: list[Pipe]) -> None:
    topology = built(build)
    topics = {topic for sub in topology.sub_topologies() for source in sub.sources for topic in source.topics}
    steps = [step for step in steps if step.topic in topics]
    everywhere(
        topology, steps, ["counts"] if build is counted else [] if build is tables_joined else ["rows"]
    )


def drive(topology: Topology, *steps: tuple[str, str | None, int]) -> list[tuple[Any, Any]]:
    with TopologyTestDriver(topology, StreamsConfig(application_id="app", default_value=str)) as driver:
        for key, value, timestamp in steps:
            driver.input("table").pipe(key, value, timestamp=timestamp)
        topic = "counts" if "counts" in driver.produced_topic_names() else "out"
        return driver.output(topic).read_key_values()


def test_what_runs_out_is_taken_from_a_count_behind() -> None:
    found = drive(built(counted), ("k1", "a", 0), ("k2", "a", 10), ("k3", "b", 25), ("k3", "b", 31))
    assert found == [("a", 1), ("a", 2), ("a", 1), ("b", 1), ("a", 0), ("b", 1)]


def test_a_row_lives_as_long_as_it_is_updated_and_begins_anew_after_that() -> None:
    found = drive(built(aggregated), *(("k1", "a", time) for time in (0, 20, 40, 61, 62)))
    assert found == [("k1", 1), ("k1", 2), ("k1", 3), ("k1", None), ("k1", 1), ("k1", 2)]


def test_a_late_row_is_gone_at_once() -> None:
    assert drive(joined(), ("k1", "a", 100), ("k2", "b", 79)) == [("k1", "a"), ("k2", "b"), ("k2", None)]
    assert drive(joined(), ("k1", "a", 100), ("k2", "b", 80)) == [("k1", "a"), ("k2", "b")]


def test_the_stream_of_a_join_makes_rows_run_out_while_the_table_is_idle() -> None:
    with TopologyTestDriver(joined()) as driver:
        driver.input("table").pipe("k1", "a", timestamp=0)
        driver.input("stream").pipe("k1", "x", timestamp=20)
        driver.input("stream").pipe("k1", "y", timestamp=21)
        assert driver.output("joined").read_values() == ["x-a", "y-None"]
        (kept, gone) = driver.output("out").read_records()
        assert (gone.value, gone.timestamp, gone.headers) == (None, kept.timestamp + TTL, ())


def test_the_wall_clock_makes_rows_run_out_without_any_record() -> None:
    with TopologyTestDriver(joined(WALL), initial_wall_clock_time=1000) as driver:
        driver.input("table").pipe("k1", "a", timestamp=1000)
        driver.advance_wall_clock_time(ms(20))
        assert driver.store("rows").get("k1") == "a"
        driver.advance_wall_clock_time(ms(1))
        assert driver.store("rows").get("k1") is None
        assert driver.output("out").read_key_values() == [("k1", "a"), ("k1", None)]


def test_the_changelog_says_what_the_store_holds() -> None:
    with TopologyTestDriver(built(aggregated), StreamsConfig(application_id="app")) as driver:
        for time in range(0, 3000, 3):
            driver.input("table").pipe(f"k{time % 77}", "v", timestamp=time)
        rest: dict[bytes | None, Any] = {}
        for key, value, _, _ in driver.produced("app-rows-changelog"):
            rest.pop(key, None) if value is None else rest.update({key: value})
        assert sorted(text(key) or "" for key in rest) == [key for key, _ in driver.store("rows").all()]
        assert driver.store("rows").approximate_num_entries() == len(rest)


def test_the_index_does_not_grow_with_updates() -> None:
    store = memory_store("rows", "timestamped_key_value", key=str, value=int, ttl_ms=TTL)
    for time in range(1000):
        store.put("k", (time, time))
        store.put(f"k{time % 5}", (time, 999 - time))
    assert store.approximate_num_entries() == 6
    gone = store.expiry.expire(10_000)
    assert [(key, timestamp - TTL) for key, _, timestamp in gone] == [
        ("k4", 0), ("k3", 1), ("k2", 2), ("k1", 3), ("k0", 4), ("k", 999),
    ]  # fmt: skip
    assert list(store.all()) == []


def test_a_table_whose_rows_run_out_does_not_use_its_topic_as_changelog() -> None:
    builder = StreamsBuilder()
    builder.table("table", value=str, store=rows())
    builder.table("other", value=str, store="others")
    stores = builder.build(optimization="all").stores
    assert (stores["rows"].changelog_topic, stores["others"].changelog_topic) == (None, "other")


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (
            lambda b: b.table("t", store=Materialized(ttl=timedelta(0))),
            "`ttl` must be at least one millisecond",
        ),
        (lambda b: b.table("t", store=Materialized(ttl=5)), "`ttl` takes a timedelta"),
        (lambda b: b.table("t", store=Materialized(ttl=ms(1), ttl_clock="wall")), "`ttl_clock` takes"),
        (lambda b: b.table("t", store=Materialized(ttl=ms(1), caching=True)), "cannot have a cache"),
        (lambda b: b.global_table("t", store=Materialized(ttl=ms(1))), "a global table do not run out"),
        (
            lambda b: b.table("t", store=Materialized("v", ttl=ms(1), history_retention=ms(5))),
            "of a versioned table the history is limited",
        ),
        (
            lambda b: b.table("t", store=Materialized(ttl=ms(1), max_entries=5)),
            "by `max_entries` or by `ttl`",
        ),
        (lambda b: key_value_store("s", ttl=timedelta(0)), "`ttl` must be at least one millisecond"),
    ],
)
def test_mistakes_are_named(mistake: Callable[[StreamsBuilder], Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message) as raised:
        mistake(StreamsBuilder())
    assert __file__ in str(raised.value)


def test_windows_have_a_retention_and_no_ttl() -> None:
    grouped = StreamsBuilder().stream("in", value=str).group_by_key()
    with pytest.raises(InvalidArgumentError, match="`ttl` is for rows without windows"):
        grouped.windowed_by(SessionWindows(ms(5))).count(store=rows())
