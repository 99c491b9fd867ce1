"""Where sources begin, when records happened and what handlers write: on Spark as the settings say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headrace import log_and_continue
from tests.spark import settings_topologies, stream_topologies
from tests.spark.harness import Application, append, by_key, encoded, flat, reference
from tests.spark.harness.inputs import parts

Make = Callable[..., Application]


def values(app: Application, topic: str) -> list[bytes | None]:
    return sorted(record.value or b"" for record in flat(app.read(topic)))


def test_sources_begin_where_they_say_or_else_where_the_settings_say(application: Make) -> None:
    check_beginnings(application)


def check_beginnings(application: Make) -> None:
    """The same on both logs."""
    topics = {"any-a": 2, "any-b": 2}
    app = application(settings_topologies.beginnings(), topics=topics, auto_offset_reset="latest")
    inputs = ("late", "early", "any-a", "any-b")
    append(app.log, {topic: [encoded("k", "before", 1)] for topic in inputs})
    app.run([{topic: [encoded("k", "after", 2)] for topic in inputs}])
    # What came while nobody was running is read: the last commit knows where that was.
    append(app.log, {topic: [encoded("k", "between", 3)] for topic in inputs})
    app.start()
    app.catch_up()
    app.stop()
    assert values(app, "late-out") == [b"after", b"between"]
    assert values(app, "early-out") == [b"after", b"before", b"between"]
    assert values(app, "pattern-out") == [b"after", b"after", b"between", b"between"]


def test_stores_in_memory_survive_restarts(application: Make) -> None:
    """Of them nothing is on disk but what their changelogs say."""
    topology, inputs = settings_topologies.in_memory(), parts("in")
    app = application(topology)
    app.run(inputs[:2]).run(inputs[2:3])
    app.start()
    app.feed(inputs[3])
    assert app.streams is not None
    expected = reference(topology, inputs, stores=["counts"])
    assert dict(app.streams.store("counts").all()) == dict(expected.stores["counts"])
    app.stop()
    assert by_key(flat(app.read("out"))) == by_key(expected.outputs["out"])


def test_extractors_say_when_records_happened(application: Make) -> None:
    app = application(settings_topologies.times())
    fields = [encoded("k", {"at": 5}, 99), encoded("k", {"at": -1}, 99), encoded("k", {"at": 7}, 99)]
    app.run([{"fields": fields, "rows": [encoded("k", "x", 99)]}])
    assert [record.timestamp for record in flat(app.read("by-field"))] == [5, 7]
    (row,) = flat(app.read("by-clock"))
    assert row.timestamp in {batch.commit.wall_clock for batch in app.batches}


def test_records_are_shown_counted_for_ever_and_sent_to_all_partitions(
    application: Make, tmp_path: Path
) -> None:
    app = application(stream_topologies.shown_and_sent_to_all(str(tmp_path / "seen")))
    app.run([{"in": [encoded("a", "1", 1), encoded("b", "2", 10**12)]}, {"in": [encoded("a", "3", 2)]}])
    assert sorted((tmp_path / "seen").read_text().splitlines()) == [
        "[seen]: a=1",
        "[seen]: a=3",
        "[seen]: b=2",
    ]
    assert values(app, "counts") == [n.to_bytes(8, "big") for n in (1, 1, 2)]
    everywhere = {n: [record.value for record in records] for n, records in app.read("everywhere").items()}
    assert everywhere == {number: [b"1", b"3"] for number in range(4)}


def test_handlers_write_dead_letters_of_their_own_and_none_of_global_tables(application: Make) -> None:
    app = application(
        settings_topologies.failing(),
        topics={"failed": 1, "why": 1, "dead": 1},
        processing_handler=settings_topologies.letters,
        deserialization_handler=log_and_continue,
        dead_letter_topic="dead",
    )
    good, bad = encoded("k", "3", 1), encoded("k", "x", 2, (("id", b"7"),))
    app.run([{"in": [good, bad, good], "rates": [encoded("eur", "not a number", 1)]}])
    assert values(app, "sums") == [(3).to_bytes(8, "big"), (6).to_bytes(8, "big")]
    (letter,) = flat(app.read("failed"))
    assert (letter.key, letter.value, letter.timestamp) == (b"k", b"x", 2)
    headers = dict(letter.headers)
    assert headers["id"] == b"7"
    assert headers["__streams.errors.topic"] == b"in"
    assert headers["__streams.errors.offset"] == b"1"
    assert values(app, "why") == [b"invalid literal for int() with base 10: 'x'"]
    assert values(app, "dead") == []
