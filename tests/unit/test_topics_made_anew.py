"""A source topic that was deleted and made anew under its name, with as many records: positions say nothing there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from headrace import StreamsBuilder
from headrace.admin.checking import refused
from headrace.admin.reset import plan_reset, reset
from headrace.admin.stopped import stopped
from headrace.errors import StartError
from headrace.log.base import Publication
from headrace.log.embedded import EmbeddedLog
from headrace.spark.commit import CommitRecord, Pending, decode, encode
from headrace.spark.watching import LOOK_EVERY_MS
from headrace.topology import Level
from headrace.topology.topology import Topology
from tests.spark.harness.records import Rec, append, encoded
from tests.spark.harness.sparkless import Sparkless


def topology() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by_key().count(store="counts").to_stream().to("out")
    return builder.build()


def records(count: int) -> list[Rec]:
    return [encoded(f"k{n % 5}", "v", n) for n in range(count)]


def make_anew(app: Sparkless, count: int) -> None:
    app.log.delete_topic("in")
    app.log.create_topic("in", 4)
    append(app.log, {"in": records(count)})


def newest(app: Sparkless) -> CommitRecord:
    found = app.log.committed("app")
    assert found is not None
    return decode(found, CommitRecord)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Sparkless]:
    """One that has read twenty records, and is stopped."""
    made = Sparkless(topology(), tmp_path).run([{"in": records(20)}])
    yield made
    made.close()


def test_a_start_refuses_it_and_says_the_ways_out(app: Sparkless) -> None:
    before = newest(app).topic_ids["in"]
    make_anew(app, 100)
    with pytest.raises(StartError) as told:
        app.start()
    after = app.log.topic_ids(["in"])["in"]
    assert f"made anew since it was read (its id is `{after}`, and was `{before}`)" in str(told.value)
    assert "where reading was to go on, is somewhere in other records" in str(told.value)
    assert "`headrace reset`" in str(told.value)
    assert "`--accept-changes`" in str(told.value)
    assert told.value.node is not None
    assert told.value.origin is not None
    assert Path(told.value.origin.file).name == Path(__file__).name


def test_a_check_before_the_start_tells_it(app: Sparkless) -> None:
    assert list(refused(app.log, app.topology, app.config)) == []
    make_anew(app, 100)
    (change,) = refused(app.log, app.topology, app.config)
    assert (change.level, change.subject) == (Level.MOVES, "topic `in`")
    assert "was deleted and made anew since it was read" in change.message
    assert change.origin is not None
    app.log.delete_topic("app-counts-changelog")
    begun = [change.message for change in refused(app.log, app.topology, app.config)]
    assert "its changelog `app-counts-changelog` is gone" in begun[1]
    publisher = app.log.publisher("app")
    pending = encode(msgspec.structs.replace(newest(app), pending=Pending("rescale")))
    publisher.publish(Publication([], [], {}, lambda ends: pending))
    publisher.close()
    (change,) = refused(app.log, app.topology, app.config)
    assert (change.level, change.subject) == (Level.RESET, "application `app`")
    with pytest.raises(StartError, match="`headrace rescale` of application `app` was begun") as told:
        app.start()
    assert told.value.message == change.message


def test_who_accepts_it_goes_on_in_the_midst_of_it(app: Sparkless) -> None:
    read = newest(app)
    make_anew(app, 100)
    app.start(accept_changes=True)
    assert app.committer.base.positions == read.positions
    app.catch_up()
    app.stop()
    assert sum(newest(app).positions["in"]) == 100
    app.start()  # from now on it is the topic that was read
    app.stop()


def test_after_a_reset_it_is_read_from_its_beginning(app: Sparkless) -> None:
    make_anew(app, 100)
    with stopped(app.topology, app.config) as ready:
        reset(ready, plan_reset(ready))
    app.start()
    app.catch_up()
    assert sum(count for _, count in app.store("counts").all()) == 100
    app.stop()


def test_a_commit_of_an_older_version_starts_and_learns_the_ids(app: Sparkless) -> None:
    publisher = app.log.publisher("app")
    old = msgspec.json.decode(publisher.last_commit() or b"")
    del old["topic_ids"]
    publisher.publish(Publication([], [], {}, lambda ends: msgspec.json.encode(old)))
    publisher.close()
    app.start()
    app.feed({"in": records(1)})
    app.stop()
    assert newest(app).topic_ids == app.log.topic_ids(["in"])


def test_where_nothing_was_read_nothing_is_lost(tmp_path: Path) -> None:
    app = Sparkless(topology(), tmp_path).run([])
    make_anew(app, 10)
    app.run([])
    assert sum(newest(app).positions["in"]) == 10


def test_a_running_application_notices_before_long(app: Sparkless) -> None:
    now = [1_000]
    app.start()
    app.planner.clock = lambda: now[0]
    app.feed({"in": records(1)})
    make_anew(app, 100)
    now[0] += LOOK_EVERY_MS
    with pytest.raises(StartError, match="topic `in` was deleted and made anew"):
        app.planner.plan(app.committer.base)
    app.stop()


def test_internal_topics_and_outputs_are_no_matter_of_this(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).repartition().to("out")
    app = Sparkless(builder.build(), tmp_path).run([{"in": records(5)}])
    assert list(newest(app).topic_ids) == ["in"]
    app.log.delete_topic("out")
    app.log.create_topic("out", 4)
    app.run([{"in": records(5)}])


def test_a_global_table_is_filled_anew(tmp_path: Path) -> None:
    """It has no position that could be wrong: what was read of the old topic is thrown away."""
    builder = StreamsBuilder()
    rates = builder.global_table("rates", value=str, store="rates")
    joined = builder.stream("in", value=str).join(
        rates, on=lambda key, value: key, join=lambda value, rate: rate
    )
    joined.to("out", value=str)
    app = Sparkless(builder.build(), tmp_path, partitions=1)
    app.run([{"rates": [encoded(key, "old", 0) for key in "abc"]}, {"in": [encoded("a", "v", 1)]}])
    app.log.delete_topic("rates")
    app.log.create_topic("rates", 1)
    append(app.log, {"rates": [encoded(key, "new", 0) for key in "abd" for _ in range(2)]})
    app.start()
    app.feed({"in": [encoded(key, "v", 2) for key in "abcd"]})
    assert dict(app.store("rates").all()) == dict.fromkeys("abd", "new")
    assert [record.value for record in app.read("out")[0]] == [b"old", b"new", b"new", b"new"]
    app.close()


def test_ids_of_topics(tmp_path: Path) -> None:
    with EmbeddedLog(tmp_path) as log:
        log.create_topic("a")
        log.create_topic("b")
        before = log.topic_ids(["a", "b", "c"])
        assert set(before) == {"a", "b"}
        log.delete_topic("a")
        log.create_topic("a")
        after = log.topic_ids(["a", "b"])
        assert after["b"] == before["b"]
        assert len({before["a"], before["b"], after["a"]}) == 3
