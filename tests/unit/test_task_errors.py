"""Errors of records: who is asked, what the message says, and what goes to the dead letters."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    Answer,
    BufferConfig,
    DeadLetter,
    ErrorContext,
    Materialized,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    Response,
    Serde,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    Topology,
    dead_letter,
    key_value_store,
    log_and_continue,
)
from headrace.errors import (
    CallbackError,
    ConfigError,
    DeserializationError,
    InvalidArgumentError,
    ProcessingError,
    SerializationError,
    StoreError,
    UnknownNodeError,
)
from headrace.record import RecordMetadata, TaskId
from headrace.testing import TopologyTestDriver

HERE = __file__


def skipping(**settings: Any) -> StreamsConfig:
    return StreamsConfig(
        application_id="app",
        default_value=str,
        deserialization_handler=log_and_continue,
        processing_handler=log_and_continue,
        production_handler=log_and_continue,
        **settings,
    )


def explode(value: str) -> str:
    raise ValueError(f"bad {value}")


def size(value: Any) -> Any:
    return len(value)


def exploding() -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", value=str)
    stream.to("before", value=str)
    stream.map_values(explode, value=str, name="burst").to("out")
    stream.to("after", value=str)
    return builder.build()


def fraught(build: Callable[[StreamsBuilder], Any]) -> Topology:
    builder = StreamsBuilder()
    build(builder)
    return builder.build()


def test_a_callback_that_raises_names_node_record_and_the_users_line() -> None:
    with TopologyTestDriver(exploding()) as driver, pytest.raises(CallbackError) as raised:
        driver.input("in").pipe("k", "egg")
    error = raised.value
    assert error.node == "burst"
    assert error.metadata == RecordMetadata("in", 0, 0)
    assert error.origin is not None
    assert error.origin.file == HERE
    assert error.origin.line == explode.__code__.co_firstlineno + 1
    assert "a callback raised ValueError: bad egg" in str(error)
    assert "processing_handler=log_and_continue" in str(error)
    assert "topic `in`, partition 0, offset 0" in str(error)
    assert isinstance(error.__cause__, ValueError)


def test_an_error_inside_a_library_points_at_the_users_line() -> None:
    def parse(value: str) -> Any:
        return json.loads(value)

    topology = fraught(lambda b: b.stream("in", value=str).map_values(parse, value=dict).to("out"))
    with TopologyTestDriver(topology) as driver, pytest.raises(CallbackError) as raised:
        driver.input("in").pipe("k", "{")
    assert raised.value.origin is not None
    assert raised.value.origin == (HERE, parse.__code__.co_firstlineno + 1)


def test_an_error_without_a_users_frame_points_at_the_node() -> None:
    topology = fraught(lambda b: b.stream("in", value=str).map_values(int, value=int).to("out"))
    with TopologyTestDriver(topology) as driver, pytest.raises(CallbackError) as raised:
        driver.input("in").pipe("k", "x")
    assert raised.value.origin is not None
    assert raised.value.origin.file == HERE


def test_continue_drops_the_record_at_that_node_only() -> None:
    with TopologyTestDriver(exploding(), skipping()) as driver:
        driver.input("in").pipe("k", "egg")
        assert driver.output("before").read_values() == ["egg"]
        assert driver.output("after").read_values() == ["egg"]
        assert driver.output("out").is_empty()


def test_a_skipped_record_goes_to_the_dead_letters_as_it_was_in_its_topic() -> None:
    config = skipping(dead_letter_topic="dead")
    with TopologyTestDriver(exploding(), config) as driver:
        driver.input("in").pipe("k", "egg", timestamp=17, headers={"id": "h1"})
        (letter,) = driver.output("dead").read_records()
    assert (letter.key, letter.value, letter.timestamp) == (b"k", b"egg", 17)
    assert [name for name, _ in letter.headers] == [
        "id",
        "__streams.errors.exception",
        "__streams.errors.message",
        "__streams.errors.stacktrace",
        "__streams.errors.topic",
        "__streams.errors.partition",
        "__streams.errors.offset",
    ]
    found = {name: value.decode() for name, value in letter.headers if value is not None}
    assert found["id"] == "h1"
    assert found["__streams.errors.exception"] == "ValueError"
    assert found["__streams.errors.message"] == "bad egg"
    assert "in explode" in found["__streams.errors.stacktrace"]
    assert [found[f"__streams.errors.{part}"] for part in ("topic", "partition", "offset")] == [
        "in",
        "0",
        "0",
    ]


def test_a_poison_record_names_topic_offset_and_what_it_looks_like() -> None:
    topology = fraught(lambda b: b.stream("in", value=int).to("out"))
    with TopologyTestDriver(topology) as driver, pytest.raises(DeserializationError) as raised:
        driver.pipe_bytes("in", b"k", b"17", 0)
    assert raised.value.metadata == RecordMetadata("in", 0, 0)
    assert raised.value.node == "KSTREAM-SOURCE-0000000000"
    assert "its value is not what this source reads" in str(raised.value)
    assert "was it written as `str`?" in str(raised.value)
    assert "deserialization_handler=log_and_continue" in str(raised.value)


def test_a_poison_key_is_told_apart_from_a_poison_value() -> None:
    topology = fraught(lambda b: b.stream("in", key=int, value=str).to("out"))
    with TopologyTestDriver(topology) as driver, pytest.raises(DeserializationError, match="its key is not"):
        driver.pipe_bytes("in", b"k", b"v", 0)


def _behind_a_suppress(builder: StreamsBuilder) -> None:
    held = Suppressed.until_time_limit(timedelta(milliseconds=5), BufferConfig.unbounded())
    builder.table("in", value=str).suppress(held).to_stream().map_values(explode).to("out")


def _in_a_join_with_grace(builder: StreamsBuilder) -> None:
    rows = Materialized[str, str]("t", history_retention=timedelta(seconds=1))
    table = builder.table("rows", value=str, store=rows)
    grace = timedelta(milliseconds=5)
    builder.stream("in", value=str).left_join(table, join=lambda a, b: explode(a), grace=grace).to("out")


@pytest.mark.parametrize("build", [_behind_a_suppress, _in_a_join_with_grace])
def test_the_dead_letter_of_a_record_that_waited_says_where_it_is(
    build: Callable[[StreamsBuilder], None],
) -> None:
    """Its bytes are not in the buffer (ADR 0022, 0024)."""
    builder = StreamsBuilder()
    build(builder)
    with TopologyTestDriver(builder.build(), skipping(dead_letter_topic="dead")) as driver:
        driver.input("in").pipe("k", "egg", timestamp=17, headers={"id": "h1"})
        driver.input("in").pipe("l", "ham", timestamp=25)
        (letter,) = driver.output("dead").read_records()
    assert (letter.key, letter.value, letter.timestamp) == (None, None, 17)
    headers = dict(letter.headers)
    assert headers["id"] == b"h1"
    assert [headers[f"__streams.errors.{what}"] for what in ("topic", "partition", "offset")] == [
        b"in",
        b"0",
        b"0",
    ]


def test_a_poison_record_that_is_skipped_goes_to_the_dead_letters() -> None:
    topology = fraught(lambda b: b.stream("in", value=int).to("out"))
    with TopologyTestDriver(topology, skipping(dead_letter_topic="dead")) as driver:
        driver.pipe_bytes("in", b"k", b"17", 3, (("id", b"1"),))
        driver.input("in").pipe("k", 17)
        assert driver.output("out").read_values() == [17]
        (letter,) = driver.output("dead").read_records()
    assert (letter.key, letter.value, letter.timestamp) == (b"k", b"17", 3)
    assert letter.headers[0] == ("id", b"1")
    assert dict(letter.headers)["__streams.errors.offset"] == b"0"


def test_a_value_that_its_sink_cannot_write_names_the_sink_and_the_fix() -> None:
    topology = fraught(lambda b: b.stream("in", value=str).map_values(size).to("out", value=str, name="end"))
    with TopologyTestDriver(topology) as driver, pytest.raises(SerializationError) as raised:
        driver.input("in").pipe("k", "four")
    assert raised.value.node == "end"
    assert "the value cannot be written" in str(raised.value)
    assert "got 4 of type `int`" in str(raised.value)
    assert "production_handler=log_and_continue" in str(raised.value)


def test_a_value_that_cannot_be_written_can_be_skipped() -> None:
    topology = fraught(lambda b: b.stream("in", value=str).map_values(size).to("out", value=str))
    with TopologyTestDriver(topology, skipping(dead_letter_topic="dead")) as driver:
        driver.input("in").pipe("k", "four")
        assert driver.output("out").is_empty()
        assert driver.output("dead").read_key_value() == (b"k", b"four")


def test_a_handler_sees_the_record_as_it_was_and_where_it_failed() -> None:
    seen: list[tuple[ErrorContext, ProcessingError]] = []

    def handler(context: ErrorContext, error: ProcessingError) -> Response:
        seen.append((context, error))
        return Response.CONTINUE

    config = StreamsConfig(application_id="app", processing_handler=handler)
    with TopologyTestDriver(exploding(), config) as driver:
        driver.input("in").pipe("k", "egg", timestamp=5, headers={"a": "b"})
    ((context, error),) = seen
    assert context == ErrorContext(
        node="burst",
        task_id=TaskId(0, 0),
        metadata=RecordMetadata("in", 0, 0),
        key=b"k",
        value=b"egg",
        timestamp=5,
        headers=(("a", b"b"),),
    )
    assert isinstance(error, CallbackError)
    assert "log_and_continue" not in str(error), "the way to skip is told to those who do not"


class Flaky(Serde[str]):
    """Fails as often as it is told, and then works."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def serialize(self, value: str) -> bytes:
        self.failures -= 1
        if self.failures >= 0:
            raise ConnectionError("the registry does not answer")
        return value.encode()


def writing(serde: Serde[str], attempts: list[int], **settings: Any) -> TopologyTestDriver:
    """A sink that tries again as often as it may."""

    def handler(context: ErrorContext, error: ProcessingError) -> Response:
        assert isinstance(error.__cause__, ConnectionError)
        attempts.append(context.attempt)
        return Response.RETRY

    topology = fraught(lambda b: b.stream("in", value=str).to("out", value=serde))
    return TopologyTestDriver(
        topology, StreamsConfig(application_id="app", production_handler=handler, **settings)
    )


def test_a_production_handler_may_have_it_tried_again() -> None:
    attempts: list[int] = []
    # The first time, the second to see which part it was, and once more for each answer.
    with writing(Flaky(3), attempts) as driver:
        driver.input("in").pipe("k", "egg", timestamp=5)
        assert driver.output("out", value=str).read_record() == Record("k", "egg", 5)
    assert attempts == [1, 2]


def test_not_for_ever() -> None:
    """ADR 0027."""
    attempts: list[int] = []
    with (
        writing(Flaky(1000), attempts, production_retries=2) as driver,
        pytest.raises(SerializationError, match=r"tried 3 times\); to skip such records"),
    ):
        driver.input("in").pipe("k", "egg")
    assert attempts == [1, 2, 3]


def test_a_handler_may_choose_the_dead_letters_itself() -> None:
    def handler(context: ErrorContext, error: ProcessingError) -> Answer:
        assert context.metadata is not None
        kept = dead_letter(context, error, f"{context.metadata.topic}-failed")
        return Answer(Response.CONTINUE, dead_letters=[kept, DeadLetter("alarms", None, b"!", 7)])

    config = StreamsConfig(application_id="app", processing_handler=handler, dead_letter_topic="dead")
    with TopologyTestDriver(exploding(), config) as driver:
        driver.input("in").pipe("k", "egg", timestamp=5)
        assert driver.output("alarms", bytes, bytes).read_record() == Record(None, b"!", 7)
        letter = driver.output("in-failed", str, str).read_record()
        assert (letter.key, letter.value, letter.timestamp) == ("k", "egg", 5)
        assert dict(letter.headers)["__streams.errors.message"] == b"bad egg"
        assert "dead" not in driver.produced_topic_names(), "the handler's own take its place"


def test_dead_letters_of_a_batch_that_fails_would_be_lost() -> None:
    with pytest.raises(ConfigError, match=r"go with `Response\.CONTINUE`"):
        Answer(Response.FAIL, dead_letters=[DeadLetter("dead", None, None, 0)])


def test_an_answer_that_is_none_is_named() -> None:
    config = StreamsConfig(application_id="app", processing_handler=lambda context, error: "skip")  # type: ignore[arg-type, return-value]
    with (
        TopologyTestDriver(exploding(), config) as driver,
        pytest.raises(CallbackError, match="expected a `Response` or an `Answer`, got 'skip'"),
    ):
        driver.input("in").pipe("k", "egg")


def test_what_cannot_be_read_of_a_global_table_is_skipped_and_no_dead_letter() -> None:
    """As in Kafka Streams; every host reads the table, and each would write one."""
    builder = StreamsBuilder()
    builder.global_table("rates", value=int, store="rates")
    with TopologyTestDriver(builder.build(), skipping(dead_letter_topic="dead")) as driver:
        driver.pipe_bytes("rates", b"k", b"abc", 0)
        assert list(driver.store("rates").all()) == []
        assert driver.produced_topic_names() == frozenset()


@pytest.mark.parametrize("response", [Response.FAIL, Response.RETRY])
def test_a_handler_that_does_not_say_continue_stops_the_task(response: Response) -> None:
    config = StreamsConfig(application_id="app", processing_handler=lambda context, error: response)
    with TopologyTestDriver(exploding(), config) as driver, pytest.raises(CallbackError):
        driver.input("in").pipe("k", "egg")


def test_a_handler_that_raises_is_named_itself() -> None:
    def handler(context: ErrorContext, error: ProcessingError) -> Response:
        raise KeyError("oops")

    config = StreamsConfig(application_id="app", processing_handler=handler)
    with (
        TopologyTestDriver(exploding(), config) as driver,
        pytest.raises(CallbackError, match="`processing_handler` itself raised KeyError"),
    ):
        driver.input("in").pipe("k", "egg")


class Forwards(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)


def test_a_failure_behind_a_processor_is_handled_once_where_it_happened() -> None:
    asked: list[str] = []

    def handler(context: ErrorContext, error: ProcessingError) -> Response:
        asked.append(context.node)
        return Response.FAIL

    topology = fraught(
        lambda b: b.stream("in", value=str).process(Forwards).map_values(explode, name="burst").to("out")
    )
    config = StreamsConfig(application_id="app", default_value=str, processing_handler=handler)
    with TopologyTestDriver(topology, config) as driver, pytest.raises(CallbackError):
        driver.input("in").pipe("k", "egg")
    assert asked == ["burst"]


class Stores(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.get_state_store("numbers").put(record.key, record.value)
        self.context.forward(record)


def numbers(b: StreamsBuilder, *, connected: bool = True) -> None:
    b.add_state_store(key_value_store("numbers", key=str, value=int))
    stores = ["numbers"] if connected else []
    b.stream("in", value=str).process(Stores, stores=stores, name="keeps").to("out")


def test_a_value_that_a_store_cannot_write_is_a_processing_error() -> None:
    with TopologyTestDriver(fraught(numbers)) as driver, pytest.raises(CallbackError) as raised:
        driver.input("in").pipe("k", "text")
    assert raised.value.node == "keeps"
    assert "`numbers`" in str(raised.value)
    config = StreamsConfig(application_id="app", default_value=str, processing_handler=log_and_continue)
    with TopologyTestDriver(fraught(numbers), config) as driver:
        driver.input("in").pipe("k", "text")
        assert driver.output("out").is_empty()


def test_a_store_that_is_not_connected_is_refused_with_the_fix() -> None:
    topology = fraught(lambda b: numbers(b, connected=False))
    with TopologyTestDriver(topology) as driver, pytest.raises(CallbackError) as raised:
        driver.input("in").pipe("k", "text")
    assert "the store `numbers` is not connected to this node" in str(raised.value)
    assert "process(..., stores=['numbers'])" in str(raised.value)
    assert raised.value.node == "keeps"


class WantsStore(Processor[str, str, str, str]):
    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        context.get_state_store("nowhere")


def test_a_store_that_does_not_exist_is_refused_when_the_task_starts() -> None:
    topology = fraught(lambda b: b.stream("in", value=str).process(WantsStore, name="wants").to("out"))
    with pytest.raises(
        StoreError, match="there is no store `nowhere`; connected to this node are: none"
    ) as raised:
        TopologyTestDriver(topology)
    assert raised.value.node == "wants"
    assert raised.value.origin is not None
    assert raised.value.origin.file == HERE


class BadInit(Processor[str, str, str, str]):
    def init(self, context: ProcessorContext[str, str]) -> None:
        raise RuntimeError("not today")


def test_an_init_that_raises_stops_the_start_with_its_line() -> None:
    topology = fraught(lambda b: b.stream("in", value=str).process(BadInit, name="bad").to("out"))
    with pytest.raises(CallbackError, match=r"`BadInit\.init` raised RuntimeError: not today") as raised:
        TopologyTestDriver(topology)
    assert raised.value.origin is not None
    assert raised.value.origin.file == HERE


class BadPunctuator(Processor[str, str, str, str]):
    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        context.schedule(timedelta(seconds=1), PunctuationType.WALL_CLOCK_TIME, self.tick)

    def tick(self, time: int) -> None:
        raise RuntimeError("tock")

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)


def test_a_punctuator_that_raises_names_its_node_and_has_no_record() -> None:
    topology = fraught(lambda b: b.stream("in", value=str).process(BadPunctuator, name="bad").to("out"))
    with TopologyTestDriver(topology) as driver, pytest.raises(CallbackError, match="tock") as raised:
        driver.advance_wall_clock_time(timedelta(seconds=1))
    assert raised.value.node == "bad"
    assert raised.value.metadata is None
    with TopologyTestDriver(
        topology, skipping(dead_letter_topic="dead"), initial_wall_clock_time=0
    ) as driver:
        driver.advance_wall_clock_time(timedelta(seconds=1))
        (letter,) = driver.output("dead").read_records()
    assert (letter.key, letter.value, letter.timestamp) == (None, None, 1000)
    assert dict(letter.headers)["__streams.errors.topic"] is None
    assert dict(letter.headers)["__streams.errors.partition"] == b"-1"


class ToNobody(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record, "nobody")


class ToThePast(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record.with_timestamp(-5))


class ChangesKey(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record.with_key("other"))


@pytest.mark.parametrize(
    ("processor", "fixed", "message"),
    [
        (ToNobody, False, r"`nobody` is not a child of this node; its children are: `end`"),
        (ToThePast, False, "timestamp must not be negative, got -5"),
        (ChangesKey, True, "must forward records with the key they came with, got 'other' instead of 'k'"),
    ],
)
def test_what_a_processor_must_not_forward(processor: Any, fixed: bool, message: str) -> None:
    def build(b: StreamsBuilder) -> None:
        stream = b.stream("in", value=str)
        run = stream.process_values if fixed else stream.process
        run(processor).to("out", name="end")

    config = StreamsConfig(application_id="app", default_value=str)
    with (
        TopologyTestDriver(fraught(build), config) as driver,
        pytest.raises(CallbackError, match=message) as raised,
    ):
        driver.input("in").pipe("k", "v")
    assert isinstance(raised.value.__cause__, (UnknownNodeError, InvalidArgumentError))


def test_a_supplier_must_make_a_processor() -> None:
    topology = Topology().add_source("src", "in", value=str).add_processor("odd", lambda: None, "src")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="must return a `Processor`, got None") as raised:
        TopologyTestDriver(topology)
    assert raised.value.node == "odd"


def test_a_sink_whose_topic_chooser_fails_is_a_processing_error() -> None:
    def choose(key: str, value: str, metadata: Any) -> str:
        return value[5]

    topology = fraught(lambda b: b.stream("in", value=str).to(choose, name="end"))
    with TopologyTestDriver(topology) as driver, pytest.raises(CallbackError, match="IndexError") as raised:
        driver.input("in").pipe("k", "v")
    assert raised.value.node == "end"
