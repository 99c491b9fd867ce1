"""A stream whose records wait for the versioned table that they are joined with, as a user meets it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    JoinWindows,
    Materialized,
    Record,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    log_and_continue,
)
from headrace.errors import CallbackError, InvalidArgumentError, StoreError
from headrace.testing import TopologyTestDriver


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def history(length: int) -> Materialized[str, str]:
    return Materialized("rows", history_retention=ms(length))


def picky(value: str, row: str | None) -> str:
    if value == "bad":
        raise ValueError("bad")
    return f"{value}+{row}"


def joined(*, left: bool = False) -> Topology:
    builder = StreamsBuilder()
    table, stream = builder.table("table", value=str, store=history(100)), builder.stream("in", value=str)
    if left:
        stream.left_join(table, join=picky, value=str, name="j", grace=ms(10)).to("out")
    else:
        stream.join(table, join=picky, value=str, name="j", grace=ms(10)).to("out")
    return builder.build()


def test_a_record_meets_the_row_of_its_own_time_although_the_row_came_later() -> None:
    with TopologyTestDriver(joined()) as driver:
        stream, table, out = driver.input("in"), driver.input("table"), driver.output("out")
        stream.pipe("a", "x", timestamp=5, headers=[("n", "1")])
        table.pipe("a", "old", timestamp=4)
        table.pipe("a", "new", timestamp=6)
        assert out.is_empty()
        stream.pipe("b", "y", timestamp=15)
        assert out.read_records() == [Record("a", "x+old", 5, (("n", b"1"),))]
        # Later than the grace: it has waited enough.
        stream.pipe("a", "late", timestamp=4)
        assert out.read_values() == ["late+old"]
        assert [record.value for record in driver.get_state_store("j-Buffer").all()] == ["y"]


def test_a_record_without_a_key_waits_for_nothing() -> None:
    """Kafka Streams fails with a null pointer where a left join has a grace (docs/adr/0024)."""
    with TopologyTestDriver(joined(left=True)) as driver:
        driver.input("in").pipe(None, "x", timestamp=500)
        assert driver.output("out").read_records() == [Record(None, "x+None", 500)]
        # It has no row, so it does not move the time of those who wait either.
        driver.input("in").pipe("a", "y", timestamp=5)
        assert driver.output("out").is_empty()
    with TopologyTestDriver(joined()) as driver:
        driver.input("in").pipe(None, "x", timestamp=5)
        assert driver.output("out").is_empty()


def test_a_joiner_that_fails_names_the_record_that_waited() -> None:
    with TopologyTestDriver(joined(left=True)) as driver:
        driver.input("in").pipe("a", "bad", timestamp=0)
        with pytest.raises(CallbackError) as caught:
            driver.input("in").pipe("b", "good", timestamp=10)
    assert caught.value.metadata == ("in", 0, 0)


def test_a_joiner_that_fails_and_is_skipped_holds_nobody_up() -> None:
    """In Kafka Streams the record stays in the buffer, fails with every record, and nobody behind it leaves."""
    config = StreamsConfig(application_id="app", processing_handler=log_and_continue)
    with TopologyTestDriver(joined(left=True), config) as driver:
        stream = driver.input("in")
        stream.pipe("a", "bad", timestamp=0)
        stream.pipe("b", "good", timestamp=1)
        stream.pipe("c", "later", timestamp=11)
        assert driver.output("out").read_values() == ["good+None"]


def test_a_closed_buffer_says_so() -> None:
    with TopologyTestDriver(joined()) as driver:
        buffer = driver.get_state_store("j-Buffer")
    with pytest.raises(StoreError, match="store `j-Buffer` is closed"):
        buffer.put("a", "x", 1, (), None)


def wrong(make: Callable[[StreamsBuilder, Any], object]) -> Callable[[], object]:
    def build() -> object:
        builder = StreamsBuilder()
        return make(builder, builder.stream("in", value=str))

    return build


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "a table without history": (
        wrong(lambda b, s: s.join(b.table("t", value=str), join=picky, grace=ms(1))),
        "`grace` needs a versioned table, and `KTABLE-SOURCE-0000000003` is not",
    ),
    "a join of versioned tables": (
        wrong(
            lambda b, s: s.join(
                b.table("t", value=str, store=history(9)).join(
                    b.table("u", value=str, store=Materialized("u", history_retention=ms(9))), join=picky
                ),
                join=picky,
                grace=ms(1),
            )
        ),
        "`grace` needs a versioned table, and `KTABLE-MERGE-0000000005` is not",
    ),
    "longer than the history": (
        wrong(lambda b, s: s.left_join(b.table("t", value=str, store=history(9)), join=picky, grace=ms(10))),
        "`grace` must not be longer than the history of the table, got 0:00:00.010000, and the store `rows` has",
    ),
    "a negative grace": (
        wrong(lambda b, s: s.join(b.table("t", value=str, store=history(9)), join=picky, grace=ms(-1))),
        "`grace` must be zero or more",
    ),
    "a global table": (
        wrong(lambda b, s: s.join(b.global_table("t", value=str), on=max, join=picky, grace=ms(1))),
        "`grace` is for a join with a versioned `KTable`",
    ),
    "another stream": (
        wrong(
            lambda b, s: s.join(b.stream("t", value=str), windows=JoinWindows(ms(1)), join=picky, grace=ms(1))
        ),
        "`grace` is for a join with a versioned `KTable`: leave it out .two streams have theirs in `windows`",
    ),
}


@pytest.mark.parametrize(("make", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_cannot_work_is_refused_at_the_users_line(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        make()
    assert caught.value.origin is not None
    assert caught.value.origin.file == __file__
