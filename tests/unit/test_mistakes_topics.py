"""Mistakes with topics, names and what goes with them: one message each."""

from __future__ import annotations

import re

import pytest
from mistake_topologies import run, words
from mistakes import Mistake, collector

from headrace import StreamsBuilder, field_timestamp, key_value_store, wallclock_timestamp
from headrace.errors import CopartitionError, GlobalTopicError, InvalidArgumentError, TopicConflictError
from headrace.spark.layout import lay_out

MISTAKES: list[Mistake] = []
mistake = collector(MISTAKES)


@mistake(
    TopicConflictError,
    "the topic `in` is already read by `KSTREAM-SOURCE-0000000000`, made at {before}: use "
    "that stream or table again",
    node="KSTREAM-SOURCE-0000000002",
)
def one_topic_read_twice() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str)  # before
    builder.table("in", value=str)  # here
    builder.build()


@mistake(
    TopicConflictError,
    "the topic `input` is already read by `KSTREAM-SOURCE-0000000000`, made at {before}: use "
    "that stream or table again",
    node="KSTREAM-SOURCE-0000000001",
)
def a_pattern_over_a_topic_that_is_read() -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("in.*"), value=str)  # before
    builder.stream("input", value=str)  # here
    builder.build()


@mistake(
    TopicConflictError,
    "the topic `in` is read with `value` as string at {before} and as long here: say the same in both, and change it "
    "behind with `map_values` or `map`",
    node="KSTREAM-SOURCE-0000000001",
)
def one_topic_read_as_two_types() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str)  # before
    builder.stream("in", value=int)  # here
    builder.build()


@mistake(
    TopicConflictError,
    "the topic `in` is read with another `timestamp_extractor` at {before}: name one in one of them",
    node="KSTREAM-SOURCE-0000000001",
)
def one_topic_read_at_two_times() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str, timestamp_extractor=wallclock_timestamp)  # before
    builder.stream("in", value=str, timestamp_extractor=field_timestamp("at"))  # here
    builder.build()


@mistake(
    InvalidArgumentError,
    "the topic `in` is read with `offset_reset='earliest'` at {before} and with 'latest' here: say the same in both",
    node="KSTREAM-SOURCE-0000000001",
)
def one_topic_read_from_two_beginnings() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str, offset_reset="earliest")  # before
    builder.stream("in", value=str, offset_reset="latest")  # here
    builder.build()


@mistake(
    TopicConflictError,
    "the topic `input`, which the pattern matches, is already read by `KSTREAM-SOURCE-0000000000`, made at {before}: "
    "let each topic match one pattern only, and use that stream again",
    node="KSTREAM-SOURCE-0000000001",
)
def a_topic_of_two_patterns() -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("in.*"), value=str)  # before
    builder.stream(re.compile(".*put"), value=str)  # here
    lay_out(builder.build(), "app", {"input": 2, "output": 2})


@mistake(
    TopicConflictError,
    "the topic `topology-test-driver-commits` is an internal one of application `topology-test-driver`: nobody else "
    "may use it: choose another topic, or another `application_id`",
    node="KSTREAM-SINK-0000000001",
)
def a_sink_into_the_commits() -> None:
    builder = StreamsBuilder()
    words(builder).to("topology-test-driver-commits")  # here
    run(builder)


@mistake(
    TopicConflictError,
    "the topic `__consumer_offsets` is one of Kafka's own, as its name begins with `__`: choose another",
    node="KSTREAM-SINK-0000000001",
)
def a_sink_into_a_topic_of_kafkas() -> None:
    builder = StreamsBuilder()
    words(builder).to("__consumer_offsets")  # here
    run(builder)


@mistake(
    GlobalTopicError,
    "the topic `g` is the global table of `KSTREAM-SOURCE-0000000001` and cannot be written "
    "by the same topology: write to another topic, or read it with `table`",
    node="KSTREAM-SINK-0000000004",
)
def a_global_table_that_is_written() -> None:
    builder = StreamsBuilder()
    builder.global_table("g", value=str)
    words(builder).to("g")  # here
    builder.build()


@mistake(
    InvalidArgumentError,
    "a source needs at least one topic, got none",
    node="KSTREAM-SOURCE-0000000000",
)
def no_topics() -> None:
    builder = StreamsBuilder()
    builder.stream([], value=str)  # here
    builder.build()


@mistake(
    InvalidArgumentError,
    "a topic's name is a text of 1 to 249 letters, digits, `.`, `_` and `-`, got ''",
)
def a_topic_without_a_name() -> None:
    StreamsBuilder().stream("", value=str)  # here


@mistake(
    InvalidArgumentError,
    "topics are named by a text, a list of them or a compiled pattern, got 5",
)
def a_topic_that_is_a_number() -> None:
    StreamsBuilder().stream(5, value=str)  # here


@mistake(
    InvalidArgumentError,
    "a topic's name is a text of 1 to 249 letters, digits, `.`, `_` and `-`, got 'my topic'",
)
def a_topic_with_a_blank() -> None:
    StreamsBuilder().stream("my topic", value=str)  # here


@mistake(
    InvalidArgumentError,
    "a topic's name is a text of 1 to 249 letters, digits, `.`, `_` and `-`, got ['a', 'b']",
)
def a_table_of_two_topics() -> None:
    StreamsBuilder().table(["a", "b"], value=str)  # here


@mistake(
    InvalidArgumentError,
    "a topic's name is a text of 1 to 249 letters, digits, `.`, `_` and `-`, got 'my topic'",
)
def a_sink_with_a_blank() -> None:
    words().to("my topic")  # here


@mistake(
    InvalidArgumentError,
    "a topic's name is a text of 1 to 249 letters, digits, `.`, `_` and `-`, got 5",
)
def a_sink_that_is_a_number() -> None:
    words().to(5)  # here


@mistake(
    TopicConflictError,
    "the topic `g-repartition` has the name of an internal topic of this topology: choose "
    "another for one of them",
    node="KSTREAM-SINK-0000000007",
)
def a_sink_into_an_internal_topic() -> None:
    builder = StreamsBuilder()
    stream = words(builder)
    stream.group_by(lambda key, value: value, name="g").count()
    stream.to("g-repartition")  # here
    builder.build()


@mistake(
    InvalidArgumentError,
    "`store` becomes part of topic names: 1 to 249 letters, digits, `.`, `_` and `-`, got 'a b'",
)
def a_store_with_a_blank() -> None:
    words().group_by_key().count(store="a b")  # here


@mistake(
    InvalidArgumentError,
    "`name` becomes part of topic names: 1 to 249 letters, digits, `.`, `_` and `-`, got 'a/b'",
)
def a_processors_store_with_a_slash() -> None:
    key_value_store("a/b")  # here


@mistake(
    InvalidArgumentError,
    "`store` takes a name or a `Materialized`, got 5",
)
def a_store_that_is_a_number() -> None:
    StreamsBuilder().table("t", value=str, store=5)  # here


@mistake(
    InvalidArgumentError,
    "`name` becomes part of topic names: 1 to 249 letters, digits, `.`, `_` and `-`, got 'a b'",
)
def a_node_with_a_blank() -> None:
    words().filter(lambda key, value: True, name="a b")  # here


@mistake(
    InvalidArgumentError,
    '`offset_reset` is "earliest", "latest", "none", or a timedelta of how far to go back, got \'first\'',
)
def a_place_to_begin_that_is_none() -> None:
    StreamsBuilder().stream("in", value=str, offset_reset="first")  # type: ignore[arg-type]  # here


@mistake(
    InvalidArgumentError,
    "`partitions` must be a whole number of at least 1, got 0",
    node="KSTREAM-SOURCE-0000000000",
)
def no_partitions() -> None:
    words().repartition(partitions=0)  # here


@mistake(
    InvalidArgumentError,
    "`partitions` must be a whole number of at least 1, got 'three'",
    node="KSTREAM-SOURCE-0000000000",
)
def partitions_in_words() -> None:
    words().repartition(partitions="three")  # here


@mistake(
    InvalidArgumentError,
    "`branch` takes at least one predicate, got none",
    node="KSTREAM-SOURCE-0000000000",
)
def branches_without_a_predicate() -> None:
    words().branch()  # here


@mistake(
    InvalidArgumentError,
    "`partitioner` takes a function of (topic, key, value, number of partitions), got 3",
    node="KSTREAM-SINK-0000000001",
)
def a_partitioner_that_is_none() -> None:
    builder = StreamsBuilder()
    words(builder).to("out", partitioner=3)  # here
    builder.build()


@mistake(
    InvalidArgumentError,
    "`timestamp_extractor` takes a function of (record, highest time), got 3",
    node="KSTREAM-SOURCE-0000000000",
)
def a_timestamp_extractor_that_is_none() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str, timestamp_extractor=3)  # here
    builder.build()


@mistake(
    InvalidArgumentError,
    "`partitioner` calls its function with (topic, key, value, number of partitions), and the"
    " lambda takes (key)",
    node="KSTREAM-SINK-0000000001",
)
def a_partitioner_that_takes_the_key_alone() -> None:
    builder = StreamsBuilder()
    words(builder).to("out", partitioner=lambda key: 0)  # here
    builder.build()


@mistake(
    TopicConflictError,
    "the topic `topology-test-driver-c-changelog` is an internal one of application "
    "`topology-test-driver`: nobody else may use it: choose another topic, or another "
    "`application_id`",
    node="KSTREAM-SINK-0000000002",
)
def a_sink_into_a_changelog() -> None:
    builder = StreamsBuilder()
    stream = words(builder)
    stream.group_by_key().count(store="c")
    stream.to("topology-test-driver-c-changelog")  # here
    run(builder)


@mistake(
    CopartitionError,
    "joined topics must have the same number of partitions: `l` has 2, `t` has 3; create them"
    " alike, or call `repartition` on one side",
    node="KSTREAM-JOIN-0000000004",
)
def joined_topics_of_different_sizes_in_the_log() -> None:
    builder = StreamsBuilder()
    left = builder.stream("l", value=str)
    left.join(builder.table("t", value=str), join=lambda a, b: a)  # here
    lay_out(builder.build(), "app", {"l": 2, "t": 3})


@mistake(
    CopartitionError,
    "joined topics must have the same number of partitions: `l` has 2, `t` has 2, `u` has 3; create them"
    " alike, or call `repartition` on one side",
    node="second",
)
def the_second_of_two_joins_of_different_sizes() -> None:
    builder = StreamsBuilder()
    left = builder.stream("l", value=str)
    once = left.join(builder.table("t", value=str), join=lambda a, b: a, name="first")
    once.join(builder.table("u", value=str), join=lambda a, b: a, name="second")  # here
    lay_out(builder.build(), "app", {"l": 2, "t": 2, "u": 3})


@mistake(
    CopartitionError,
    "joined topics must have the same number of partitions: `t` has 2, `u` has 3; create them"
    " alike, or call `repartition` on one side",
    node="second",
)
def tables_of_different_sizes_for_one_repartitioned_stream() -> None:
    builder = StreamsBuilder()
    left = builder.stream("l", value=str).repartition(name="by")
    left.join(builder.table("t", value=str), join=lambda a, b: a, name="first")
    left.join(builder.table("u", value=str), join=lambda a, b: a, name="second")  # here
    lay_out(builder.build(), "app", {"l": 4, "t": 2, "u": 3})


@pytest.mark.parametrize("slip", MISTAKES, ids=str)
def test_the_message_says_what_where_and_how_to_mend_it(slip: Mistake) -> None:
    slip.check()
