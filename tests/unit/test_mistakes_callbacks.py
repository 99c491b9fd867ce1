"""Mistakes with functions: found when the topology is built where that is possible."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mistake_topologies import run, words
from mistakes import RECORD, Mistake, collector

from headrace import StreamsBuilder
from headrace.errors import CallbackError, InvalidArgumentError

MISTAKES: list[Mistake] = []
mistake = collector(MISTAKES)


@mistake(
    InvalidArgumentError,
    "`filter` takes a function of (key, value), got 5",
)
def what_cannot_be_called() -> None:
    words().filter(5)  # here


@mistake(
    InvalidArgumentError,
    "`map_values` does not wait for `shout`, which is async: use `map_values_async`",
)
def an_async_function_for_map_values() -> None:
    async def shout(value: str) -> str:
        return value.upper()

    words().map_values(shout)  # here


@mistake(
    InvalidArgumentError,
    "`filter` does not wait for `is_loud`, which is async: make it a plain one",
)
def an_async_function_for_a_predicate() -> None:
    async def is_loud(key: str, value: str) -> bool:
        return value.isupper()

    words().filter(is_loud)  # here


@mistake(
    InvalidArgumentError,
    "`map_values` does not wait for the `Shout`, which is async: use `map_values_async`",
)
def an_async_object() -> None:
    class Shout:
        async def __call__(self, value: str) -> str:
            return value.upper()

    words().map_values(Shout())  # here


@mistake(
    InvalidArgumentError,
    "`map_values` takes a function that returns its result, and `split` is a generator: "
    "return instead of `yield`, or use `flat_map` or `flat_map_values`",
)
def a_generator_for_map_values() -> None:
    def split(value: str) -> Iterator[str]:
        yield from value.split()

    words().map_values(split)  # here


@mistake(
    InvalidArgumentError,
    "`filter` takes a function that returns its result, and `split` is a generator: return "
    "instead of `yield`, or use `flat_map` or `flat_map_values`",
)
def a_generator_for_a_predicate() -> None:
    def split(key: str, value: str) -> Iterator[str]:
        yield from value.split()

    words().filter(split)  # here


@mistake(
    InvalidArgumentError,
    "`map_values` calls its function with (value), and the lambda takes (key, value): "
    "`with_key=True` adds the key",
)
def key_and_value_for_map_values() -> None:
    words().map_values(lambda key, value: value)  # here


@mistake(
    InvalidArgumentError,
    "`filter` calls its function with (key, value), and the lambda takes (value)",
)
def the_value_alone_for_a_predicate() -> None:
    words().filter(lambda value: True)  # here


@mistake(
    InvalidArgumentError,
    "`map_values` calls its function with (key, value), and the lambda takes (value)",
)
def a_value_with_the_key_that_takes_one() -> None:
    words().map_values(lambda value: value, with_key=True)  # here


@mistake(
    InvalidArgumentError,
    "`map_values` calls its function with (value), and `shout` takes (value, *, mark)",
)
def a_keyword_that_has_no_default() -> None:
    def shout(value: str, *, mark: str) -> str:
        return value + mark

    words().map_values(shout)  # here


@mistake(
    InvalidArgumentError,
    "`aggregate` calls its function with no arguments, and the lambda takes (key)",
)
def an_initializer_that_takes_a_key() -> None:
    words().group_by_key().aggregate(lambda key: 0, lambda key, value, n: n, value=int)  # here


@mistake(
    InvalidArgumentError,
    "`aggregate` takes a function that makes the first value, got 0: write `lambda: 0`",
)
def an_initial_value_instead_of_a_function() -> None:
    words().group_by_key().aggregate(0, lambda key, value, n: n, value=int)  # here


@mistake(
    InvalidArgumentError,
    "`aggregate` calls its function with (key, value, so far), and the lambda takes (value, n)",
)
def an_aggregator_that_takes_two() -> None:
    words().group_by_key().aggregate(lambda: 0, lambda value, n: n, value=int)  # here


@mistake(
    InvalidArgumentError,
    "`reduce` calls its function with (so far, value), and the lambda takes (a)",
)
def a_reducer_that_takes_one() -> None:
    words().group_by_key().reduce(lambda a: a)  # here


@mistake(
    InvalidArgumentError,
    "`join` calls its function with (value, row), and the lambda takes (a)",
)
def a_joiner_that_takes_one() -> None:
    builder = StreamsBuilder()
    words(builder).join(builder.table("t", value=str), join=lambda a: a)  # here


@mistake(
    InvalidArgumentError,
    "`group_by` takes a function of (key, value), got 'key'",
)
def a_key_mapper_in_words() -> None:
    words().group_by("key")  # here


@mistake(
    InvalidArgumentError,
    "`to` calls its function with (key, value, metadata), and the lambda takes (key, value)",
)
def a_topic_chooser_that_takes_two() -> None:
    words().to(lambda key, value: "out")  # here


@mistake(
    CallbackError,
    "a callback raised ValueError: invalid literal for int() with base 10: 'b'; to skip such "
    "records set `processing_handler=log_and_continue`",
    node="KSTREAM-MAPVALUES-0000000001",
    metadata=RECORD,
)
def a_callback_that_raises() -> None:
    builder = StreamsBuilder()
    words(builder).map_values(lambda value: str(int(value))).to("out", value=str)  # here
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "the function of `map` must return a pair (key, value), got 'bcd'; to skip such records "
    "set `processing_handler=log_and_continue`",
    node="KSTREAM-MAP-0000000001",
    metadata=RECORD,
)
def a_map_that_gives_the_value_alone() -> None:
    builder = StreamsBuilder()
    words(builder).map(lambda key, value: value).to("out", key=str, value=str)  # here
    run(builder, ("a", "bcd"))


@mistake(
    CallbackError,
    "the function of `map` must return a pair (key, value), got None; to skip such records "
    "set `processing_handler=log_and_continue`",
    node="KSTREAM-MAP-0000000001",
    metadata=RECORD,
)
def a_map_that_gives_nothing() -> None:
    builder = StreamsBuilder()
    words(builder).map(lambda key, value: None).to("out", key=str, value=str)  # here
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "the function of `flat_map` must return a list, or yield, got 5: an empty list is no "
    "result; to skip such records set `processing_handler=log_and_continue`",
    node="KSTREAM-FLATMAP-0000000001",
    metadata=RECORD,
)
def a_flat_map_that_gives_a_number() -> None:
    builder = StreamsBuilder()
    words(builder).flat_map(lambda key, value: 5).to("out", key=str, value=str)  # here
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "the function of `flat_map` must return a pair (key, value), got 5; to skip such records "
    "set `processing_handler=log_and_continue`",
    node="KSTREAM-FLATMAP-0000000001",
    metadata=RECORD,
)
def a_flat_map_that_gives_values_alone() -> None:
    builder = StreamsBuilder()
    words(builder).flat_map(lambda key, value: [5]).to("out", key=str, value=str)  # here
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "the function of `flat_map_values` must return a list, or yield, got None: an empty list "
    "is no result; to skip such records set `processing_handler=log_and_continue`",
    node="KSTREAM-FLATMAPVALUES-0000000001",
    metadata=RECORD,
)
def a_flat_map_of_values_that_gives_nothing() -> None:
    builder = StreamsBuilder()
    words(builder).flat_map_values(lambda value: None).to("out", value=str)  # here
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "the function of `group_by` must return a pair (key, value), got 'a'; to skip such "
    "records set `processing_handler=log_and_continue`",
    node="KTABLE-SELECT-0000000003",
    metadata=RECORD,
)
def a_group_of_a_table_that_gives_the_key_alone() -> None:
    builder = StreamsBuilder()
    builder.table("in", value=str).group_by(lambda key, value: key).count()  # here
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "the function of `map` must return a pair (key, value), got 'bc'; to skip such records "
    "set `processing_handler=log_and_continue`",
    node="KSTREAM-MAP-0000000001",
    metadata=RECORD,
)
def a_map_that_gives_two_letters() -> None:
    builder = StreamsBuilder()
    words(builder).map(lambda key, value: value).to("out", key=str, value=str)  # here
    run(builder, ("a", "bc"))


@mistake(
    CallbackError,
    "the function of `map` must return a pair (key, value), got {'k': 'a', 'v': 'bc'}; to "
    "skip such records set `processing_handler=log_and_continue`",
    node="KSTREAM-MAP-0000000001",
    metadata=RECORD,
)
def a_map_that_gives_a_dict() -> None:
    builder = StreamsBuilder()
    words(builder).map(lambda key, value: {"k": key, "v": value}).to("out", key=str, value=str)  # here
    run(builder, ("a", "bc"))


@mistake(
    CallbackError,
    "the function of `flat_map` must return a list, or yield, got 'bc', and each of its "
    "letters would be a result: return a list with it, or split it; to skip such records set "
    "`processing_handler=log_and_continue`",
    node="KSTREAM-FLATMAP-0000000001",
    metadata=RECORD,
)
def a_flat_map_that_gives_a_text() -> None:
    builder = StreamsBuilder()
    words(builder).flat_map(lambda key, value: value).to("out", key=str, value=str)  # here
    run(builder, ("a", "bc"))


@mistake(
    CallbackError,
    "the function of `flat_map` must return a pair (key, value), got 'bc'; to skip such "
    "records set `processing_handler=log_and_continue`",
    node="KSTREAM-FLATMAP-0000000001",
    metadata=RECORD,
)
def a_flat_map_that_gives_texts_of_two_letters() -> None:
    builder = StreamsBuilder()
    words(builder).flat_map(lambda key, value: [value]).to("out", key=str, value=str)  # here
    run(builder, ("a", "bc"))


@mistake(
    CallbackError,
    "the function of `flat_map_values` must return a list, or yield, got 'bc', and each of "
    "its letters would be a result: return a list with it, or split it; to skip such records "
    "set `processing_handler=log_and_continue`",
    node="KSTREAM-FLATMAPVALUES-0000000001",
    metadata=RECORD,
)
def a_flat_map_of_values_that_gives_a_text() -> None:
    builder = StreamsBuilder()
    words(builder).flat_map_values(lambda value: value).to("out", value=str)  # here
    run(builder, ("a", "bc"))


@mistake(
    CallbackError,
    "the function of `group_by` must return a pair (key, value), got 'bc'; to skip such "
    "records set `processing_handler=log_and_continue`",
    node="KTABLE-SELECT-0000000003",
    metadata=RECORD,
)
def a_group_of_a_table_that_gives_two_letters() -> None:
    builder = StreamsBuilder()
    builder.table("in", value=str).group_by(lambda key, value: value).count()  # here
    run(builder, ("a", "bc"))


@mistake(
    InvalidArgumentError,
    "`flat_map_values` takes a function that returns a list, and `shout` says that it returns"
    " a text, whose letters would be taken: use `map_values`, or return a list with it",
)
def a_flat_map_of_values_that_says_it_gives_a_text() -> None:
    def shout(value: str) -> str:
        return value.upper()

    words().flat_map_values(shout)  # here


@mistake(
    InvalidArgumentError,
    "`map` takes a function that returns a pair (key, value), and `shout` says that it "
    "returns a text, whose letters would be taken: use `map_values`, or return the pair",
)
def a_map_that_says_it_gives_a_text() -> None:
    def shout(key: str, value: str) -> str:
        return value.upper()

    words().map(shout)  # here


@mistake(
    CallbackError,
    "the timestamp extractor raised ValueError: invalid literal for int() with base 10: 'x'; "
    "return a negative number to drop a record",
    node="KSTREAM-SOURCE-0000000000",
    metadata=RECORD,
)
def a_timestamp_extractor_that_gives_a_text() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str, timestamp_extractor=lambda *_: "x").to("out")  # here
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "the partitioner chose partition 7, and `out` has 1: return a number below 1, a set of them, or None; "
    "to skip such records set `processing_handler=log_and_continue`",
    node="KSTREAM-SINK-0000000001",
    metadata=RECORD,
)
def a_partitioner_out_of_range() -> None:
    builder = StreamsBuilder()
    words(builder).to("out", partitioner=lambda *_: 7)  # here
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "the function of `to` must return the name of a topic, got None: `filter` drops records; "
    "to skip such records set `processing_handler=log_and_continue`",
    node="KSTREAM-SINK-0000000001",
    metadata=RECORD,
)
def a_topic_chooser_that_gives_nothing() -> None:
    builder = StreamsBuilder()
    words(builder).to(lambda key, value, metadata: None)  # here
    run(builder, ("a", "b"))


@pytest.mark.parametrize("slip", MISTAKES, ids=str)
def test_the_message_says_what_where_and_how_to_mend_it(slip: Mistake) -> None:
    slip.check()
