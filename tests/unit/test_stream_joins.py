"""Joins of two streams: the bytes of their changelogs, what they refuse, and what a failing joiner leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import JoinWindows, Materialized, Serdes, StreamsBuilder, StreamsConfig, log_and_continue
from headrace.errors import InvalidArgumentError
from headrace.serdes.joined import JoinKey, JoinKeySerde, JoinValuesSerde
from headrace.testing import TopologyTestDriver


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def plus(left: object, right: object) -> str:
    return f"{left}+{right}"


CHANGELOGS = {
    "KSTREAM-OUTEROTHER-0000000005-store": [
        ("6d000000000000000600000001", "0000000000000007", 6),
        ("6b000000000000000800000002", "0000000000000009", 8),
    ],
    "KSTREAM-OUTERSHARED-0000000004-store": [
        ("0000000000000005016b", "010000000100000003017631", 5),
        ("0000000000000005016b", "01000000020000000301763100000003017632", 5),
        ("0000000000000006006d", "010000000100000009000000000000000007", 6),
        ("0000000000000005016b", None, 8),
        ("0000000000000006006d", None, 500),
        ("00000000000001f4017a", "010000000100000005016c617465", 500),
    ],
    "KSTREAM-OUTERTHIS-0000000004-store": [
        ("6b000000000000000500000001", "7631", 5),
        ("6b000000000000000500000002", "7632", 5),
        ("6e000000000000000600000003", None, 6),
        ("7a00000000000001f400000004", "6c617465", 500),
    ],
}
"""Written by Kafka Streams 4.3.1 for the same topology and input."""


def test_changelogs_have_the_bytes_of_kafka_streams() -> None:
    builder = StreamsBuilder()
    left, right = builder.stream("l", value=str), builder.stream("r", value=int)
    left.outer_join(right, windows=JoinWindows(ms(50), grace=ms(10)), join=plus).to("o")
    with TopologyTestDriver(builder.build(), StreamsConfig(application_id="app")) as driver:
        l, r = driver.input("l"), driver.input("r")  # noqa: E741
        l.pipe("k", "v1", timestamp=5)
        l.pipe("k", "v2", timestamp=5)
        r.pipe("m", 7, timestamp=6)
        l.pipe("n", None, timestamp=6)
        r.pipe("k", 9, timestamp=8)
        l.pipe("z", "late", timestamp=500)
        for store, expected in CHANGELOGS.items():
            raw = driver.output(f"app-{store}-changelog", Serdes.bytes(), Serdes.bytes())
            found = [
                (r.key.hex(), None if r.value is None else r.value.hex(), r.timestamp)
                for r in raw.read_records()
            ]
            assert found == expected, store


def test_waiting_records_are_read_as_they_were_written() -> None:
    keys = JoinKeySerde(Serdes.string())
    assert keys.deserialize(keys.serialize(JoinKey(7, False, "a"))) == (7, False, "a")
    values = JoinValuesSerde(Serdes.string(), Serdes.long())
    waiting = [(True, "a"), (True, ""), (False, 3)]
    assert values.deserialize(values.serialize(waiting)) == waiting


def test_waiting_records_sort_by_time_side_and_key() -> None:
    keys = [JoinKey(1, True, "a"), JoinKey(1, False, "b"), JoinKey(0, True, "z"), JoinKey(1, False, "a")]
    write = JoinKeySerde(Serdes.string()).serialize
    assert sorted(keys, key=write) == [keys[2], keys[3], keys[1], keys[0]]


def test_types_that_only_the_configuration_knows_are_enough() -> None:
    builder = StreamsBuilder()
    builder.stream("l").left_join(builder.stream("r"), windows=JoinWindows(ms(5)), join=plus).to("o")
    config = StreamsConfig(application_id="app", default_value=str)
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input("l").pipe("k", "a", timestamp=1)
        driver.input("r").pipe("k", "b", timestamp=3)
        driver.input("l").pipe("z", "c", timestamp=30)
        driver.input("r").pipe("z", "d", timestamp=90)
        assert driver.output("o").read_values() == ["a+b", "c+None"]


def test_a_joiner_that_fails_ends_the_record_and_leaves_the_waiting_ones() -> None:
    calls = []

    def picky(left: Any, right: Any) -> str:
        calls.append(left)
        if left == "bad" and calls.count("bad") == 1:
            raise ValueError("not yet")
        return f"{left}+{right}"

    builder = StreamsBuilder()
    left, right = builder.stream("l", value=str), builder.stream("r", value=str)
    left.left_join(right, windows=JoinWindows(ms(5)), join=picky).to("o", value=str)
    config = StreamsConfig(application_id="app", processing_handler=log_and_continue)
    with TopologyTestDriver(builder.build(), config) as driver:
        source = driver.input("l")
        source.pipe("k", "good", timestamp=1)
        source.pipe("k", "bad", timestamp=2)
        source.pipe("k", "trigger", timestamp=50)
        source.pipe("k", "again", timestamp=51)
        # What went out before the failure was not deleted yet, and the record that ran into it never waited.
        assert driver.output("o").read_values() == ["good+None", "good+None", "bad+None"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (JoinWindows, "needs a `difference`"),
        (lambda: JoinWindows(before=ms(1)), "needs a `difference`"),
        (lambda: JoinWindows(before=ms(-20), after=ms(10)), "leave nothing between them"),
        (lambda: JoinWindows(5), "takes a timedelta, got 5"),  # type: ignore[arg-type]
        (lambda: JoinWindows(ms(5), grace=ms(-1)), "`grace` must be zero or more"),
    ],
)
def test_windows_that_make_no_sense_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"windows": None}, r"within `windows=JoinWindows\(...\)`, got None"),
        ({"on": plus}, "`on` is for global tables"),
        ({"join": "x"}, r"`join` takes a function of \(value, other value\)"),
        ({"store": Materialized("s", retention=ms(1))}, "`retention` is not for joins"),
        ({"store": Materialized("s", caching=True)}, "`caching` is not for joins"),
        ({"name": "a b"}, "`name` becomes part of topic names"),
        ({"store": "a b"}, "`store` becomes part of topic names"),
    ],
)
def test_what_a_join_of_streams_does_not_take(settings: dict[str, Any], message: str) -> None:
    builder = StreamsBuilder()
    left, right = builder.stream("l", value=str), builder.stream("r", value=str)
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        left.join(right, **{"windows": JoinWindows(ms(1)), "join": plus, **settings})
    assert __file__ in str(caught.value.origin)


def test_streams_of_two_builders_are_refused() -> None:
    left, right = StreamsBuilder().stream("l", value=str), StreamsBuilder().stream("r", value=str)
    with pytest.raises(InvalidArgumentError, match="same `StreamsBuilder`"):
        left.join(right, windows=JoinWindows(ms(1)), join=plus)


def test_a_table_has_no_windows() -> None:
    builder = StreamsBuilder()
    table: Any = builder.table("t", value=str)
    with pytest.raises(InvalidArgumentError, match="`windows` is for a join with a `KStream`"):
        builder.stream("s", value=str).join(table, windows=JoinWindows(ms(1)), join=plus)
    with pytest.raises(InvalidArgumentError, match="outer-joined with a `KStream`"):
        builder.stream("s", value=str).outer_join(table, windows=JoinWindows(ms(1)), join=plus)


def test_changelogs_of_kept_records_are_never_compacted() -> None:
    builder = StreamsBuilder()
    left, right = builder.stream("l", value=str), builder.stream("r", value=str)
    windows = JoinWindows(before=ms(20), after=ms(80), grace=ms(30))
    left.left_join(right, windows=windows, join=plus, store=Materialized("s", logging=True, persistent=False))
    stores = builder.build().stores
    assert list(stores) == ["s-this-join-store", "s-outer-other-join-store", "s-left-shared-join-store"]
    this = stores["s-this-join-store"]
    assert (this.window_size_ms, this.retention_ms, this.retain_duplicates) == (100, 130, True)
    assert dict(this.log_config) == {"cleanup.policy": "delete"}
    assert not any(store.persistent for store in stores.values())
    assert stores["s-left-shared-join-store"].log_config == ()
