"""Mistakes in how nodes and stores are put together: one message each."""

from __future__ import annotations

import pytest
from mistake_topologies import S, Same, words
from mistakes import Mistake, collector

from headrace import JoinWindows, StreamsBuilder, Topology, key_value_store
from headrace.errors import (
    CopartitionError,
    CycleError,
    DuplicateNameError,
    InvalidArgumentError,
    OtherBuilderError,
    UnknownNodeError,
    UnknownStoreError,
)

MISTAKES: list[Mistake] = []
mistake = collector(MISTAKES)


@mistake(
    UnknownStoreError,
    "there is no store `zz`: add it first with `add_state_store`, or pass the store itself",
    node="KSTREAM-PROCESSOR-0000000001",
)
def a_store_that_nobody_added() -> None:
    builder = StreamsBuilder()
    words(builder).process(Same, stores=["zz"])  # here
    builder.build()


@mistake(
    UnknownStoreError,
    "there is no store `count`: add it first with `add_state_store`, or pass the store itself"
    " (did you mean `counts`?)",
    node="KSTREAM-PROCESSOR-0000000001",
)
def a_store_name_with_a_slip() -> None:
    builder = StreamsBuilder().add_state_store(key_value_store("counts", value=int))
    words(builder).process(Same, stores=["count"])  # here
    builder.build()


@mistake(
    DuplicateNameError,
    "the name `x` is already taken by the node made at {before}: choose another `name=`",
    node="x",
)
def two_nodes_of_one_name() -> None:
    builder = StreamsBuilder()
    stream = words(builder)
    stream.filter(lambda key, value: True, name="x")  # before
    stream.filter(lambda key, value: True, name="x")  # here
    builder.build()


@mistake(
    DuplicateNameError,
    "the store name `c` is already taken by the store made at {before}: choose another name",
    node="c",
)
def two_stores_of_one_name() -> None:
    builder = StreamsBuilder()
    grouped = words(builder).group_by_key()
    grouped.count(store="c")  # before
    grouped.count(store="c")  # here
    builder.build()


@mistake(
    UnknownNodeError,
    "there is no node `b` to be the parent of `a`: add it first",
    node="a",
)
def a_node_before_its_parent() -> None:
    topology = Topology().add_source("source", "in")
    topology.add_processor("a", Same, "b")  # here


@mistake(
    CycleError,
    "`a` cannot be its own parent",
    node="a",
)
def a_node_that_is_its_own_parent() -> None:
    topology = Topology().add_source("source", "in")
    topology.add_processor("a", Same, "a")  # here


@mistake(
    InvalidArgumentError,
    "the sink `sink` forwards nothing and cannot be a parent: use the sink's own parent",
    node="a",
)
def a_sink_as_parent() -> None:
    topology = Topology().add_source("source", "in", value=str).add_sink("sink", "out", "source")
    topology.add_processor("a", Same, "sink")  # here


@mistake(
    InvalidArgumentError,
    "a processor or sink needs at least one parent, got none",
    node="a",
)
def no_parents() -> None:
    Topology().add_processor("a", Same, [])  # here


@mistake(
    InvalidArgumentError,
    "`add_state_store` takes a store, got 'seen': make one with `key_value_store(...)`",
)
def a_name_where_a_store_is_needed() -> None:
    Topology().add_state_store("seen")  # here


@mistake(
    UnknownNodeError,
    "there is no processor `nobody` to connect the store `seen` to",
    node="nobody",
)
def a_store_for_a_processor_that_is_not_there() -> None:
    Topology().add_state_store(key_value_store("seen", value=str), "nobody")  # here


@mistake(
    InvalidArgumentError,
    "the store `seen` can only be connected to a processor, not to a source or sink",
    node="source",
)
def a_store_for_a_source() -> None:
    topology = Topology().add_source("source", "in")  # here
    topology.add_state_store(key_value_store("seen", value=str), "source")


@mistake(
    InvalidArgumentError,
    "`stores` takes a list, got 'seen': write `stores=[...]` around it",
    node="KSTREAM-PROCESSOR-0000000001",
)
def stores_that_are_one_text() -> None:
    words().process(Same, stores="seen")  # here


@mistake(
    InvalidArgumentError,
    "`stores` takes names, or stores made with `key_value_store(...)` and the like, got 5",
    node="KSTREAM-PROCESSOR-0000000001",
)
def stores_that_are_none() -> None:
    words().process(Same, stores=[5])  # here


@mistake(
    InvalidArgumentError,
    "the topic is the changelog of the global store `rates`: make it with `logging=False`",
    node="put",
)
def a_global_store_with_a_changelog() -> None:
    store = key_value_store("rates", value=str)
    Topology().add_global_store(store, "fx", source="in", processor="put", supplier=Same)  # here


@mistake(
    InvalidArgumentError,
    "a processor is made anew for each task: pass its class or a function that returns one, got Same()",
    node="KSTREAM-PROCESSOR-0000000001",
)
def a_processor_that_is_made_already() -> None:
    words().process(Same())  # here


@mistake(
    InvalidArgumentError,
    "a processor is a `Processor`, and `dict` is none: derive it from `headrace.Processor`",
    node="KSTREAM-PROCESSOR-0000000001",
)
def a_processor_that_is_none() -> None:
    words().process(dict)  # here


@mistake(
    InvalidArgumentError,
    "a processor is made anew for each task: pass its class or a function that returns one, got None",
    node="KSTREAM-PROCESSOR-0000000001",
)
def a_processor_that_is_left_out() -> None:
    words().process(None)  # here


@mistake(
    OtherBuilderError,
    "both sides must come from the same `StreamsBuilder`, got two: make them with one builder",
    node="KSTREAM-SOURCE-0000000000",
)
def another_builder_for_a_stream_join() -> None:
    words().join(words(), join=lambda a, b: a, windows=JoinWindows(S))  # here


@mistake(
    OtherBuilderError,
    "both sides must come from the same `StreamsBuilder`, got two: make them with one builder",
    node="KSTREAM-SOURCE-0000000000",
)
def another_builder_for_a_table_join() -> None:
    words().join(StreamsBuilder().table("t", value=str), join=lambda a, b: a)  # here


@mistake(
    OtherBuilderError,
    "both sides must come from the same `StreamsBuilder`, got two: make them with one builder",
    node="KSTREAM-SOURCE-0000000000",
)
def another_builder_for_a_global_join() -> None:
    table = StreamsBuilder().global_table("t", value=str)
    words().join(table, on=lambda key, value: key, join=lambda a, b: a)  # here


@mistake(
    OtherBuilderError,
    "both sides must come from the same `StreamsBuilder`, got two: make them with one builder",
    node="KTABLE-SOURCE-0000000002",
)
def another_builder_for_two_tables() -> None:
    one, other = (StreamsBuilder().table("t", value=str) for _ in range(2))
    one.join(other, join=lambda a, b: a)  # here


@mistake(
    OtherBuilderError,
    "both sides must come from the same `StreamsBuilder`, got two: make them with one builder",
    node="KSTREAM-SOURCE-0000000000",
)
def another_builder_for_a_merge() -> None:
    words().merge(words())  # here


@mistake(
    OtherBuilderError,
    "all sides must come from the same `StreamsBuilder`, got two: make them with one builder",
)
def another_builder_for_a_cogroup() -> None:
    cogrouped = words().group_by_key().cogroup(lambda key, value, total: total)
    cogrouped.cogroup(words().group_by_key(), lambda key, value, total: total)  # here


@mistake(
    InvalidArgumentError,
    "a table is joined with a `KTable`, got <KStream of `KSTREAM-SOURCE-0000000003`>",
    node="KTABLE-SOURCE-0000000002",
)
def a_stream_where_a_table_is_needed() -> None:
    builder = StreamsBuilder()
    builder.table("t", value=str).join(words(builder), join=lambda a, b: a)  # here


@mistake(
    InvalidArgumentError,
    "a stream is merged with a `KStream`, got <KTable of `KTABLE-SOURCE-0000000003`>: a table"
    " has `to_stream()`",
    node="KSTREAM-SOURCE-0000000000",
)
def a_table_where_a_stream_is_needed() -> None:
    builder = StreamsBuilder()
    words(builder).merge(builder.table("t", value=str))  # here


@mistake(
    InvalidArgumentError,
    "streams are joined within `windows=JoinWindows(...)`, got None",
    node="KSTREAM-SOURCE-0000000000",
)
def a_join_of_streams_without_windows() -> None:
    builder = StreamsBuilder()
    words(builder).join(words(builder, "r"), join=lambda a, b: a)  # here


@mistake(
    InvalidArgumentError,
    "`windows` is for a join with a `KStream`: leave it out",
    node="KSTREAM-SOURCE-0000000003",
)
def a_join_with_a_table_with_windows() -> None:
    builder = StreamsBuilder()
    table = builder.table("t", value=str)
    words(builder).join(table, join=lambda a, b: a, windows=JoinWindows(S))  # here


@mistake(
    InvalidArgumentError,
    "`on` takes a function of (key, value), got None",
)
def a_global_join_without_a_key() -> None:
    builder = StreamsBuilder()
    table = builder.global_table("t", value=str)
    words(builder).join(table, join=lambda a, b: a)  # here


@mistake(
    InvalidArgumentError,
    "a stream is joined with a `KStream`, a `KTable` or a `GlobalKTable`, got 't'",
    node="KSTREAM-SOURCE-0000000000",
)
def a_join_with_a_name() -> None:
    words().join("t", join=lambda a, b: a)  # here


@mistake(
    InvalidArgumentError,
    "a stream is joined with a `KStream`, a `KTable` or a `GlobalKTable`, got None",
    node="KSTREAM-SOURCE-0000000000",
)
def a_join_with_nothing() -> None:
    words().join(None, join=lambda a, b: a)  # here


@mistake(
    CopartitionError,
    "joined topics must have the same number of partitions, got `left-repartition` has 2, "
    "`right-repartition` has 3: repartition one side like the other",
    node="KSTREAM-MERGE-0000000012",
)
def joined_topics_of_different_sizes() -> None:
    builder = StreamsBuilder()
    left = words(builder, "l").repartition(partitions=2, name="left")
    right = words(builder, "r").repartition(partitions=3, name="right")
    left.join(right, join=lambda a, b: a, windows=JoinWindows(S))  # here
    builder.build()


@pytest.mark.parametrize("slip", MISTAKES, ids=str)
def test_the_message_says_what_where_and_how_to_mend_it(slip: Mistake) -> None:
    slip.check()
