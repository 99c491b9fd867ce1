"""Mistakes inside processors: one message each, with the record and the line."""

from __future__ import annotations

import pytest
from mistake_topologies import S, Same, made, processed, run, words
from mistakes import RECORD, Mistake, collector

from headrace import (
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    key_value_store,
    window_store,
)
from headrace.errors import CallbackError, ClosedStoreError, InvalidArgumentError, UnknownStoreError

MISTAKES: list[Mistake] = []
mistake = collector(MISTAKES)


@mistake(
    CallbackError,
    "there is no store `nope`; connected to this node are: none. Add it with "
    "`add_state_store` and name it where the node is made; to skip such records set "
    "`processing_handler=log_and_continue`",
    node="mine",
    metadata=RECORD,
)
def a_store_that_is_not_there() -> None:
    class Ask(Same):
        def process(self, record: Record[str, str]) -> None:
            self.context.get_state_store("nope")  # here

    run(processed(Ask), ("a", "b"))


@mistake(
    CallbackError,
    "the store `seen` is not connected to this node: name it where the node is made, "
    "`process(..., stores=['seen'])` or `add_processor(..., stores=['seen'])`; to skip such "
    "records set `processing_handler=log_and_continue`",
    node="mine",
    metadata=RECORD,
)
def a_store_that_is_not_connected() -> None:
    class Ask(Same):
        def process(self, record: Record[str, str]) -> None:
            self.context.get_state_store("seen")  # here

    run(processed(Ask).add_state_store(key_value_store("seen", value=str)), ("a", "b"))


@mistake(
    UnknownStoreError,
    "there is no store `nope`; connected to this node are: none. Add it with "
    "`add_state_store` and name it where the node is made",
    node="mine",
)
def a_store_that_is_not_there_when_it_begins() -> None:
    class Ask(Same):
        def init(self, context: ProcessorContext[str, str]) -> None:
            context.get_state_store("nope")  # here

    run(processed(Ask), ("a", "b"))


@mistake(
    CallbackError,
    "`put` is refused: the global store `names` is changed by its topic only; write to that "
    "topic instead; to skip such records set `processing_handler=log_and_continue`",
    node="mine",
    metadata=RECORD,
)
def a_global_store_that_is_written() -> None:
    class Write(Same):
        def process(self, record: Record[str, str]) -> None:
            self.context.get_state_store("names").put("a", "b")  # here

    builder = processed(Write)
    builder.global_table("g", value=str, store="names")
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "a callback raised TypeError: Lazy does not define `process`; to skip such records set "
    "`processing_handler=log_and_continue`",
    node="mine",
    metadata=RECORD,
)
def a_processor_that_does_nothing() -> None:
    class Lazy(Processor[str, str, str, str]):
        pass

    builder = StreamsBuilder()
    words(builder).process(Lazy, name="mine")  # here
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "`Broken.init` raised OSError: no such file",
    node="mine",
)
def a_processor_that_raises_when_it_begins() -> None:
    class Broken(Same):
        def init(self, context: ProcessorContext[str, str]) -> None:
            raise OSError("no such file")  # here

    run(processed(Broken), ("a", "b"))


@mistake(
    InvalidArgumentError,
    "a processor's supplier must return a `Processor`, got None: pass the class, or a "
    "function that makes a new one",
    node="mine",
)
def a_supplier_that_gives_nothing() -> None:
    builder = StreamsBuilder()
    words(builder).process(lambda: None, name="mine")  # here
    run(builder)


@mistake(
    CallbackError,
    "the supplier of a processor raised ZeroDivisionError: division by zero",
    node="mine",
)
def a_supplier_that_raises() -> None:
    run(processed(lambda: 1 / 0))  # here


@mistake(
    InvalidArgumentError,
    "a supplier is called without arguments, and the lambda takes (context): bind them first,"
    " for example with `functools.partial`",
    node="KSTREAM-PROCESSOR-0000000001",
)
def a_supplier_that_takes_arguments() -> None:
    words().process(lambda context: Same())  # here


@mistake(
    CallbackError,
    "`forward` takes a `Record`, got ('a', 'b'): change the one that came in with "
    "`with_value` and the like, or make one with `Record(key, value, timestamp)`; to skip "
    "such records set `processing_handler=log_and_continue`",
    node="mine",
    metadata=RECORD,
)
def forwarding_a_pair() -> None:
    class Pair(Same):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(("a", "b"))  # here

    run(processed(Pair), ("a", "b"))


@mistake(
    CallbackError,
    "`nobody` is not a child of this node; its children are: `KSTREAM-SINK-0000000001`; to "
    "skip such records set `processing_handler=log_and_continue`",
    node="mine",
    metadata=RECORD,
)
def forwarding_to_a_child_that_is_not_there() -> None:
    class Elsewhere(Same):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record, "nobody")  # here

    run(processed(Elsewhere), ("a", "b"))


@mistake(
    CallbackError,
    "a record's timestamp must not be negative, got -1: it is milliseconds since 1970; to "
    "skip such records set `processing_handler=log_and_continue`",
    node="mine",
    metadata=RECORD,
)
def forwarding_into_the_time_before_time() -> None:
    class Early(Same):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record.with_timestamp(-1))  # here

    run(processed(Early), ("a", "b"))


@mistake(
    CallbackError,
    "`process_values` must forward records with the key they came with, got 'other' instead "
    "of 'a': use `process` to change it; to skip such records set "
    "`processing_handler=log_and_continue`",
    node="mine",
    metadata=RECORD,
)
def another_key_out_of_process_values() -> None:
    class Rekey(Same):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record.with_key("other"))  # here

    builder = StreamsBuilder()
    words(builder).process_values(Rekey, value=str, name="mine").to("out")
    run(builder, ("a", "b"))


@mistake(
    CallbackError,
    "a callback raised ValueError: tock; to skip such records set `processing_handler=log_and_continue`",
    node="mine",
)
def a_punctuator_that_raises() -> None:
    class Tick(Same):
        def init(self, context: ProcessorContext[str, str]) -> None:
            super().init(context)
            context.schedule(S, PunctuationType.STREAM_TIME, self.tick)

        def tick(self, time: int) -> None:
            raise ValueError("tock")  # here

    run(processed(Tick), ("a", "b"))


@mistake(
    CallbackError,
    "store `seen` takes no null key; to skip such records set `processing_handler=log_and_continue`",
    node="mine",
    metadata=RECORD,
)
def a_store_without_a_key() -> None:
    class Nobody(Same):
        def process(self, record: Record[str, str]) -> None:
            self.context.get_state_store("seen").get(None)  # here

    run(processed(Nobody, stores=[key_value_store("seen", value=str)]), ("a", "b"))


@mistake(
    CallbackError,
    "store `seen`, value: Serdes.string() writes `str`, got 5 of type `int`: convert it, or "
    "say the right type with `key=` or `value=`; to skip such records set "
    "`processing_handler=log_and_continue`",
    node="mine",
    metadata=RECORD,
)
def a_store_with_another_type() -> None:
    class Wrong(Same):
        def process(self, record: Record[str, str]) -> None:
            self.context.get_state_store("seen").put("a", 5)  # here

    run(processed(Wrong, stores=[key_value_store("seen", value=str)]), ("a", "b"))


@mistake(
    CallbackError,
    "store `recent`: times are milliseconds since the epoch, got "
    "datetime.timedelta(seconds=1); to skip such records set "
    "`processing_handler=log_and_continue`",
    node="mine",
    metadata=RECORD,
)
def a_window_at_no_time() -> None:
    class Wrong(Same):
        def process(self, record: Record[str, str]) -> None:
            self.context.get_state_store("recent").put("a", "b", S)  # here

    run(processed(Wrong, stores=[window_store("recent", size=S, retention=S, value=str)]), ("a", "b"))


@mistake(
    InvalidArgumentError,
    "nobody waits for `Wait.process`, which is async: make it a plain method",
    node="KSTREAM-PROCESSOR-0000000001",
)
def a_processor_that_is_async() -> None:
    class Wait(Same):
        async def process(self, record: Record[str, str]) -> None:
            self.context.forward(record)

    words().process(Wait)  # here


@mistake(
    ClosedStoreError,
    "store `counts` is closed: it lives as long as its task or driver; get it again from the "
    "context, or ask before closing",
)
def a_closed_store() -> None:
    with made() as driver:
        store = driver.get_state_store("counts")
    list(store.range("a", "b"))  # here


@pytest.mark.parametrize("slip", MISTAKES, ids=str)
def test_the_message_says_what_where_and_how_to_mend_it(slip: Mistake) -> None:
    slip.check()
