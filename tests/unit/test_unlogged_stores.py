"""Stores without a changelog: no topic is made for them, and they live as long as the disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from headrace import BufferConfig, Materialized, StreamsBuilder, Suppressed
from headrace.topology.topology import Topology
from tests.spark.harness.records import encoded, flat
from tests.spark.harness.sparkless import Sparkless


def counting() -> Topology:
    """The same twice, with and without a changelog."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by_key()
    for name, logging in (("logged", True), ("unlogged", False)):
        grouped.count(store=Materialized(name, logging=logging)).to_stream().to(name, value=int)
    return builder.build()


def waiting() -> Topology:
    """A table of which nothing is sent on for ten milliseconds."""
    builder = StreamsBuilder()
    table = builder.table("in", value=str)
    buffer = BufferConfig.unbounded().with_logging_disabled()
    held = table.suppress(Suppressed.until_time_limit(timedelta(milliseconds=10), buffer), name="held")
    held.to_stream().to("out", value=str)
    return builder.build()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Sparkless]:
    made = Sparkless(counting(), tmp_path, partitions=1)
    yield made
    made.close()


def lose_the_disk(app: Sparkless) -> None:
    app.stop()
    shutil.rmtree(app.config.state_path)
    app.start()


def counts(app: Sparkless) -> tuple[dict[str, int], dict[str, int]]:
    return dict(app.store("logged").all()), dict(app.store("unlogged").all())


def test_no_topic_is_made_and_the_rows_are_as_long_as_the_disk(app: Sparkless) -> None:
    part = {"in": [encoded("a", "v", 1), encoded("b", "v", 2)]}
    app.start()
    app.feed(part, part)
    assert [topic for topic in app.log.topics() if "logged" in topic and "changelog" in topic] == [
        "app-logged-changelog"
    ]
    app.restart()
    assert counts(app) == ({"a": 2, "b": 2}, {"a": 2, "b": 2})
    app.feed(part)
    assert counts(app) == ({"a": 3, "b": 3}, {"a": 3, "b": 3})
    lose_the_disk(app)
    app.feed({"in": [encoded("a", "v", 3)]})
    assert counts(app) == ({"a": 4, "b": 3}, {"a": 1})
    written = [(record.key, int.from_bytes(record.value or b"")) for record in flat(app.read("unlogged"))]
    assert written == [(key, n) for n in (1, 2, 3) for key in (b"a", b"b")] + [(b"a", 1)]


def test_a_batch_that_was_broken_off_is_taken_back_without_a_changelog_too(app: Sparkless) -> None:
    part = {"in": [encoded("a", "v", 1)]}
    app.start()
    app.feed(part)
    app.append("in", [(b"a", b"v", 2)])
    app.table(app.next_plan())  # its tasks have committed, and nobody publishes it
    app.restart()
    app.catch_up()
    assert counts(app) == ({"a": 2}, {"a": 2})


def test_what_a_suppression_without_a_changelog_holds_back_is_lost_with_the_disk(tmp_path: Path) -> None:
    app = Sparkless(waiting(), tmp_path, partitions=1)
    app.start()
    app.feed({"in": [encoded("a", "first", 0)]})
    assert not [topic for topic in app.log.topics() if "held" in topic]
    app.restart()
    app.feed({"in": [encoded("b", "second", 10)]})
    assert [record.value for record in flat(app.read("out"))] == [b"first"]
    lose_the_disk(app)
    app.feed({"in": [encoded("c", "third", 20)]}, {"in": [encoded("d", "fourth", 30)]})
    # The second was held back when the disk was lost.
    assert [record.value for record in flat(app.read("out"))] == [b"first", b"third"]
    app.close()
