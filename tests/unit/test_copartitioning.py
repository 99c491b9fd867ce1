"""Which topics must have as many partitions as others, and how many repartition topics get.

What is expected was told by Kafka Streams 4.3.1 (its RepartitionTopics and CopartitionedTopicsEnforcer) for the same
topologies over topics of 2, 3 and 3 partitions. Where a topology has no repartition topic at all, Kafka Streams does
not ask, and keys of joined topics miss each other: here that is refused as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from headrace import JoinWindows, KStream, KTable, StreamsBuilder
from headrace.errors import CopartitionError
from headrace.spark.layout import Layout, lay_out

TOPICS = {"l": 2, "r": 3, "t": 3}
WINDOWS = JoinWindows(timedelta(seconds=1))


def first(one: str, other: str) -> str:
    return one


def stream(builder: StreamsBuilder, topic: Any) -> KStream[str, str]:
    return builder.stream(topic, value=str)


def table(builder: StreamsBuilder, topic: str) -> KTable[str, str]:
    return builder.table(topic, value=str)


def rekeyed(builder: StreamsBuilder, topic: str) -> KStream[str, str]:
    return stream(builder, topic).select_key(lambda key, value: value)


def repartitioned(builder: StreamsBuilder, topic: str, name: str, partitions: int) -> KStream[str, str]:
    return stream(builder, topic).repartition(name=name, partitions=partitions)


def cogrouped(b: StreamsBuilder) -> Any:
    left, right = stream(b, "l").group_by_key(), stream(b, "r").group_by_key()
    return left.cogroup(lambda k, v, total: total).cogroup(right, lambda k, v, total: total).aggregate(str)


Build = Callable[[StreamsBuilder], Any]


def laid_out(build: Build) -> Layout:
    builder = StreamsBuilder()
    build(builder)
    return lay_out(builder.build(), "app", TOPICS)


REFUSED: dict[str, tuple[Build, str]] = {
    "stream-stream": (
        lambda b: stream(b, "l").join(stream(b, "r"), join=first, windows=WINDOWS),
        "`l` has 2, `r` has 3",
    ),
    "stream-table": (lambda b: stream(b, "l").join(table(b, "t"), join=first), "`l` has 2, `t` has 3"),
    "table-table": (lambda b: table(b, "l").join(table(b, "t"), join=first), "`l` has 2, `t` has 3"),
    "a-merged-stream-and-a-table": (
        lambda b: stream(b, "l").merge(stream(b, "r")).join(table(b, "t"), join=first),
        "`l` has 2, `r` has 3, `t` has 3",
    ),
    "two-topics-in-one-stream-and-a-table": (
        lambda b: stream(b, ["l", "r"]).join(table(b, "t"), join=first),
        "`l` has 2, `r` has 3, `t` has 3",
    ),
    "a-pattern-and-a-table": (
        lambda b: stream(b, re.compile("[lr]")).join(table(b, "t"), join=first),
        "`l` has 2, `r` has 3, `t` has 3",
    ),
    "cogroup": (cogrouped, "`l` has 2, `r` has 3"),
    "a-number-that-is-not-the-topics": (
        lambda b: repartitioned(b, "l", "x", 5).join(table(b, "t"), join=first),
        "`t` has 3, `x-repartition` has 5",
    ),
    "two-numbers": (
        lambda b: repartitioned(b, "l", "x", 5).join(
            repartitioned(b, "r", "y", 6), join=first, windows=WINDOWS
        ),
        "`x-repartition` has 5, `y-repartition` has 6",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_joined_must_be_alike(name: str) -> None:
    build, told = REFUSED[name]
    with pytest.raises(CopartitionError) as raised:
        laid_out(build)
    assert told in raised.value.message
    assert raised.value.node is not None
    assert raised.value.origin is not None
    assert raised.value.origin.file == __file__


def of(number: int, *names: str) -> dict[str, int]:
    return dict.fromkeys(names, number)


ACCEPTED: dict[str, tuple[Build, Mapping[str, int]]] = {
    "merge": (lambda b: stream(b, "l").merge(stream(b, "r")).group_by_key().count(), {}),
    "global-table": (
        lambda b: stream(b, "l").join(b.global_table("t", value=str), on=lambda k, v: v, join=first),
        {},
    ),
    "foreign-key": (
        lambda b: table(b, "l").join(table(b, "t"), on=lambda k, v: v, join=first, name="fk"),
        {"fk-subscription-registration-topic": 3, "fk-subscription-response-topic": 2},
    ),
    "the-re-keyed-side-follows-the-topic": (
        lambda b: rekeyed(b, "l").join(table(b, "t"), join=first, name="j"),
        of(3, "j-repartition"),
    ),
    "the-re-keyed-side-follows-the-number": (
        lambda b: repartitioned(b, "l", "x", 5).join(rekeyed(b, "r"), join=first, windows=WINDOWS, name="j"),
        of(5, "x-repartition", "j-right-repartition"),
    ),
    "two-re-keyed-sides-take-the-larger": (
        lambda b: rekeyed(b, "l").join(rekeyed(b, "r"), join=first, windows=WINDOWS, name="j"),
        of(3, "j-left-repartition", "j-right-repartition"),
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_rest_follows_or_need_not_be_alike(name: str) -> None:
    build, expected = ACCEPTED[name]
    assert laid_out(build).repartitions == expected
