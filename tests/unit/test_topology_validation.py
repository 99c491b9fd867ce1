"""What a topology refuses: each mistake has its own error, which names the node and the user's line."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import Materialized, Processor, StreamsBuilder, TimeWindows, Topology, key_value_store
from headrace.errors import (
    CycleError,
    DuplicateNameError,
    GlobalTopicError,
    InvalidArgumentError,
    MissingSerdeError,
    TopicConflictError,
    TopologyError,
    UnknownNodeError,
)
from headrace.topology.stores import window_store


def same(key: Any, value: Any) -> Any:
    return key


def left(a: Any, b: Any) -> Any:
    return a


def source() -> Topology:
    return Topology().add_source("in", "a")


GLOBAL = {"source": "gs", "processor": "gp", "supplier": Processor}

BY_HAND: list[tuple[type[TopologyError], str, Callable[[], object]]] = [
    (DuplicateNameError, "`in` is already taken", lambda: source().add_source("in", "b")),
    (DuplicateNameError, "`in` is already taken", lambda: source().add_sink("in", "b", "in")),
    (UnknownNodeError, "no node `ni`", lambda: source().add_processor("p", Processor, "ni")),
    (UnknownNodeError, r"did you mean `in`\?", lambda: source().add_sink("p", "o", "IN")),
    (CycleError, "its own parent", lambda: source().add_processor("p", Processor, ["in", "p"])),
    (InvalidArgumentError, "at least one parent", lambda: source().add_processor("p", Processor, [])),
    (
        InvalidArgumentError,
        "sink `o` forwards nothing",
        lambda: source().add_sink("o", "o", "in").add_sink("x", "x", "o"),
    ),
    (InvalidArgumentError, "at least one topic", lambda: Topology().add_source("in", [])),
    (InvalidArgumentError, "letters, digits", lambda: Topology().add_source("in put", "a")),
    (InvalidArgumentError, "earliest", lambda: Topology().add_source("x", "a", offset_reset="first")),
    (TopicConflictError, "topic `a` is already read by `in`", lambda: source().add_source("two", "a")),
    (TopicConflictError, "which the pattern matches", lambda: source().add_source("two", re.compile("[ab]"))),
    (
        TopicConflictError,
        "`b`",
        lambda: Topology().add_source("p", re.compile("[ab]")).add_source("two", "b"),
    ),
    (UnknownNodeError, "no store `s`", lambda: source().add_processor("p", Processor, "in", stores=["s"])),
    (
        UnknownNodeError,
        "no processor `p`",
        lambda: source().add_state_store(key_value_store("s", value=int), "p"),
    ),
    (
        InvalidArgumentError,
        "not to a source",
        lambda: source().add_state_store(key_value_store("s", value=int), "in"),
    ),
    (
        DuplicateNameError,
        "store name `s`",
        lambda: (
            Topology()
            .add_state_store(key_value_store("s", value=int))
            .add_state_store(key_value_store("s", value=int))
        ),
    ),
    (InvalidArgumentError, "got 's'", lambda: Topology().add_state_store("s")),  # type: ignore[arg-type]
    (InvalidArgumentError, "for each task", lambda: source().add_processor("p", Processor(), "in")),  # type: ignore[arg-type]
    (
        InvalidArgumentError,
        "logging=False",
        lambda: Topology().add_global_store(key_value_store("g", value=int), "g", **GLOBAL),  # type: ignore[arg-type]
    ),
    (
        GlobalTopicError,
        "topic `g`",
        lambda: (
            source()
            .add_global_store(key_value_store("g", value=int, logging=False), "g", **GLOBAL)  # type: ignore[arg-type]
            .add_sink("o", "g", "in")
        ),
    ),
    (
        GlobalTopicError,
        "topic `g`",
        lambda: (
            source()
            .add_sink("o", "g", "in")
            .add_global_store(key_value_store("g", value=int, logging=False), "g", **GLOBAL)  # type: ignore[arg-type]
        ),
    ),
    (
        InvalidArgumentError,
        "every processor",
        lambda: (
            source()
            .add_global_store(key_value_store("g", value=int, logging=False), "g", **GLOBAL)  # type: ignore[arg-type]
            .add_processor("p", Processor, "in", stores=["g"])
        ),
    ),
    (
        InvalidArgumentError,
        "shorter than the window",
        lambda: window_store("w", size=timedelta(seconds=2), retention=timedelta(seconds=1)),
    ),
]


@pytest.mark.parametrize(("error", "message", "build"), BY_HAND)
def test_building_by_hand_refuses(
    error: type[TopologyError], message: str, build: Callable[[], object]
) -> None:
    with pytest.raises(error, match=message) as caught:
        build()
    assert caught.value.origin is not None
    assert caught.value.origin.file == __file__


def dsl(error: type[TopologyError], message: str) -> Callable[[Callable[[StreamsBuilder], object]], object]:
    return lambda build: pytest.param(error, message, build, id=build.__name__)


@dsl(DuplicateNameError, "`f` is already taken")
def two_nodes_of_one_name(b: StreamsBuilder) -> object:
    return b.stream("a").filter(same, name="f").filter(same, name="f")


@dsl(DuplicateNameError, "store name `s`")
def two_stores_of_one_name(b: StreamsBuilder) -> object:
    grouped = b.stream("a").group_by_key()
    return grouped.count(store="s"), grouped.count(store="s")


@dsl(TopicConflictError, "topic `a` is already read")
def a_stream_and_a_table_of_one_topic(b: StreamsBuilder) -> object:
    return b.stream("a"), b.table("a")


@dsl(TopicConflictError, "together with others")
def overlapping_streams(b: StreamsBuilder) -> object:
    return b.stream("a"), b.stream(["a", "b"])


@dsl(InvalidArgumentError, "say the same in both")
def two_offset_resets_of_one_topic(b: StreamsBuilder) -> object:
    return b.stream("a", offset_reset="earliest"), b.stream("a", offset_reset="latest")


@dsl(GlobalTopicError, "read it with `table`")
def a_global_table_that_is_written(b: StreamsBuilder) -> object:
    return b.global_table("g"), b.stream("a").to("g")


@dsl(UnknownNodeError, "no store `seen`")
def a_store_that_is_not_there(b: StreamsBuilder) -> object:
    return b.stream("a").process(Processor, stores=["seen"])


@dsl(InvalidArgumentError, "same number of partitions")
def joined_repartitions_of_different_size(b: StreamsBuilder) -> object:
    table = b.stream("a").repartition(partitions=2).group_by_key().count()
    return b.stream("b").repartition(partitions=3).join(table, join=left)


@dsl(InvalidArgumentError, "`partitions` must be a whole number of at least 1")
def no_partitions(b: StreamsBuilder) -> object:
    return b.stream("a").repartition(partitions=0)


@dsl(InvalidArgumentError, "same `StreamsBuilder`")
def streams_of_two_builders(b: StreamsBuilder) -> object:
    return b.stream("a").merge(StreamsBuilder().stream("b"))


@dsl(InvalidArgumentError, "same `StreamsBuilder`")
def a_global_table_of_another_builder(b: StreamsBuilder) -> object:
    return b.stream("a").join(StreamsBuilder().global_table("g"), on=same, join=left)


@dsl(InvalidArgumentError, "`filter` takes a function of")
def a_predicate_that_cannot_be_called(b: StreamsBuilder) -> object:
    return b.stream("a").filter(True)  # type: ignore[arg-type]


@dsl(InvalidArgumentError, "`on` is for global tables")
def on_for_a_table(b: StreamsBuilder) -> object:
    return b.stream("a").join(b.table("t"), on=same, join=left)  # type: ignore[call-overload]


@dsl(InvalidArgumentError, "`on` takes a function")
def no_on_for_a_global_table(b: StreamsBuilder) -> object:
    return b.stream("a").join(b.global_table("t"), join=left)  # type: ignore[call-overload]


@dsl(InvalidArgumentError, "joined with a `KStream`")
def a_join_with_something_else(b: StreamsBuilder) -> object:
    return b.stream("a").join("t", join=left)  # type: ignore[call-overload]


@dsl(InvalidArgumentError, "a table is joined with a `KTable`")
def a_table_joined_with_a_stream(b: StreamsBuilder) -> object:
    return b.table("a").join(b.stream("t"), join=left)  # type: ignore[call-overload]


@dsl(InvalidArgumentError, "both sides must come from the same `StreamsBuilder`")
def a_table_of_another_builder(b: StreamsBuilder) -> object:
    return b.table("a").outer_join(StreamsBuilder().table("t"), join=left)


@dsl(InvalidArgumentError, "`reduce` takes a function")
def a_grouped_table_without_a_way_back(b: StreamsBuilder) -> object:
    return b.table("a").group_by(left).reduce(left, None)  # type: ignore[arg-type]


@dsl(InvalidArgumentError, "`map_values` takes a function")
def a_table_mapped_by_no_function(b: StreamsBuilder) -> object:
    return b.table("a").map_values("upper")  # type: ignore[call-overload]


@dsl(InvalidArgumentError, "`windowed_by` takes")
def windows_that_are_a_duration(b: StreamsBuilder) -> object:
    return b.stream("a").group_by_key().windowed_by(timedelta(1))  # type: ignore[call-overload]


@dsl(InvalidArgumentError, "`retention` must not be shorter")
def a_retention_shorter_than_the_window(b: StreamsBuilder) -> object:
    grouped = b.stream("a").group_by_key().windowed_by(TimeWindows(timedelta(minutes=1)))
    return grouped.count(store=Materialized("s", retention=timedelta(seconds=1)))


@dsl(InvalidArgumentError, "letters, digits")
def a_name_that_cannot_be_in_a_topic(b: StreamsBuilder) -> object:
    return b.stream("a").group_by_key(name="by user")


@dsl(InvalidArgumentError, "at least one topic")
def a_stream_of_nothing(b: StreamsBuilder) -> object:
    return b.stream([])


@dsl(MissingSerdeError, "no serde for `object`")
def a_type_without_a_serde(b: StreamsBuilder) -> object:
    return b.stream("a", value=object)


@dsl(InvalidArgumentError, "for each task")
def a_processor_instead_of_its_class(b: StreamsBuilder) -> object:
    return b.stream("a").process(Processor())  # type: ignore[arg-type]


DSL = [case for case in vars().values() if isinstance(case, type(pytest.param()))]


@pytest.mark.parametrize(("error", "message", "build"), DSL)
def test_the_dsl_refuses(
    error: type[TopologyError], message: str, build: Callable[[StreamsBuilder], object]
) -> None:
    def run(builder: StreamsBuilder) -> None:
        build(builder)
        builder.build()

    with pytest.raises(error, match=message) as caught:
        run(StreamsBuilder())
    assert caught.value.origin is not None
    assert caught.value.origin.file == __file__
    assert f"{__file__}:" in str(caught.value)
