"""Mistakes with types: one message each."""

from __future__ import annotations

import pytest
from mistake_topologies import S, Same, run, words
from mistakes import RECORD, Mistake, collector

from headrace import StreamsBuilder, TimeWindows, key_value_store
from headrace.errors import CallbackError, MissingSerdeError, SerializationError

MISTAKES: list[Mistake] = []
mistake = collector(MISTAKES)


@mistake(
    MissingSerdeError,
    "nothing says how a value in `in` is read: pass `value=` with its type, or set "
    "`default_value` in the configuration",
    node="KSTREAM-SOURCE-0000000000",
)
def a_source_of_no_known_type() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out", value=str)  # here
    run(builder)


@mistake(
    MissingSerdeError,
    "nothing says how a value for `out` is written: pass `value=` with its type, or set "
    "`default_value` in the configuration",
    node="KSTREAM-SINK-0000000002",
)
def a_sink_of_no_known_type() -> None:
    builder = StreamsBuilder()
    words(builder).map_values(lambda value: value).to("out")  # here
    run(builder)


@mistake(
    MissingSerdeError,
    "nothing says how a value in the store `s` is written: pass `value=` with its type, or "
    "set `default_value` in the configuration",
)
def a_store_of_no_known_type() -> None:
    builder = StreamsBuilder()
    builder.add_state_store(key_value_store("s"))  # here
    words(builder).process(Same, stores=["s"])
    run(builder)


@mistake(
    MissingSerdeError,
    "no serde for `object`: make it a dataclass, a msgspec struct, a pydantic model or a "
    "TypedDict, or pass a `Serde` (see `Serde.of`)",
)
def a_type_that_says_nothing() -> None:
    StreamsBuilder().stream("in", value=object)  # here


@mistake(
    MissingSerdeError,
    "expected a type or a serde, got 'str': pass the type itself, such as `str` or `int`",
)
def a_type_in_quotes() -> None:
    StreamsBuilder().stream("in", value="str")  # here


@mistake(
    MissingSerdeError,
    "expected a type or a serde, got 5: pass the type itself, such as `str` or `int`",
)
def a_value_instead_of_a_type() -> None:
    StreamsBuilder().stream("in", value=5)  # here


@mistake(
    MissingSerdeError,
    "expected a type or a serde, got (<class 'str'>,): pass the type itself, such as `str` or `int`",
)
def a_tuple_instead_of_a_type() -> None:
    StreamsBuilder().stream("in", value=(str,))  # here


@mistake(
    MissingSerdeError,
    "no serde for `Order`: make it a dataclass, a msgspec struct, a pydantic model or a "
    "TypedDict, or pass a `Serde` (see `Serde.of`)",
)
def a_class_without_fields() -> None:
    class Order:
        pass

    StreamsBuilder().stream("in", value=Order)  # here


@mistake(
    SerializationError,
    "the value cannot be written: Serdes.string() writes `str`, got 5 of type `int`: convert "
    "it, or say the right type with `key=` or `value=`; to skip such records set "
    "`production_handler=log_and_continue`",
    node="KSTREAM-SINK-0000000002",
    metadata=RECORD,
)
def a_value_that_the_serde_cannot_write() -> None:
    builder = StreamsBuilder()
    words(builder).map_values(lambda value: 5, value=str).to("out")  # here
    run(builder, ("a", "b"))


@mistake(
    SerializationError,
    "the key cannot be written: Serdes.string() writes `str`, got 5 of type `int`: convert "
    "it, or say the right type with `key=` or `value=`; to skip such records set "
    "`production_handler=log_and_continue`",
    node="KSTREAM-SINK-0000000002",
    metadata=RECORD,
)
def a_key_that_the_serde_cannot_write() -> None:
    builder = StreamsBuilder()
    words(builder).select_key(lambda key, value: 5).to("out")  # here
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "store `KSTREAM-AGGREGATE-STATE-STORE-0000000001`, value: Serdes.long() writes `int`, got"
    " 'x' of type `str`: convert it, or say the right type with `key=` or `value=`; to skip "
    "such records set `processing_handler=log_and_continue`",
    node="KSTREAM-AGGREGATE-0000000002",
    metadata=RECORD,
)
def a_value_that_the_store_cannot_write() -> None:
    builder = StreamsBuilder()
    words(builder).group_by_key().aggregate(lambda: 0, lambda key, value, n: "x", value=int)  # here
    run(builder, ("a", "b"))


@mistake(
    SerializationError,
    "the key cannot be written: Serdes.string() writes `str`, got Windowed(key='a', start=0, "
    "end=1000) of type `Windowed`: leave `key=` out for a key with its window, or take the "
    "key alone, `select_key(lambda w, v: w.key)`; to skip such records set "
    "`production_handler=log_and_continue`",
    node="KSTREAM-SINK-0000000004",
    metadata=RECORD,
)
def a_windowed_key_for_a_sink_of_texts() -> None:
    builder = StreamsBuilder()
    counts = words(builder).group_by_key().windowed_by(TimeWindows(size=S)).count()
    counts.to_stream().to("out", key=str)  # here
    run(builder, ("a", "b"))


@mistake(
    SerializationError,
    "the value cannot be written: Serdes.long() could not write it, got 9223372036854775808 "
    "of type `int`: 9223372036854775808 cannot be written as 8 bytes: int too large to "
    "convert; to skip such records set `production_handler=log_and_continue`",
    node="KSTREAM-SINK-0000000002",
    metadata=RECORD,
)
def a_number_beyond_a_long() -> None:
    builder = StreamsBuilder()
    words(builder).map_values(lambda value: 2**63, value=int).to("out")  # here
    run(builder, ("a", "b"))


@pytest.mark.parametrize("slip", MISTAKES, ids=str)
def test_the_message_says_what_where_and_how_to_mend_it(slip: Mistake) -> None:
    slip.check()
