"""A function that answers differently each time it is called: topics and stores see the same answers, once."""

from __future__ import annotations

from pathlib import Path
from random import Random

from headrace.app.reading import StoreReaders
from tests.chaos.apps import random_ids
from tests.chaos.kills import strike
from tests.chaos.kinds import Kind
from tests.chaos.schedule import ANY_TIME, Kill
from tests.chaos.subject import subject
from tests.spark.harness import by_key, flat, read_topic

KILLS = (Kill("worker", "task.after"), Kill("driver", "publish.sent"), Kill("worker", ANY_TIME))


def test_a_function_that_answers_differently_each_time_counts_once(tmp_path: Path) -> None:
    kind = Kind(random_ids, streams=("in",), outputs=("ids",), stores={"seen": "timestamped_kv"})
    with subject(kind, tmp_path / "round", Random(1)) as app:
        app.start_first()
        for kill in KILLS:
            strike(app, kill)
            app.settle()
        app.stop()
        written, wanted = (by_key(flat(read_topic(app.log, topic))) for topic in ("ids", "in"))
        readers = StoreReaders(kind.topology, app.layout, app.config)
        readers.renew()
        seen = dict(readers.store("seen").all())
        readers.close()
    assert written.keys() == wanted.keys()
    for key, records in wanted.items():
        found = [(record.value or b"").partition(b"-")[0] for record in written[key]]
        assert found == [record.value for record in records]
    # The store has seen the very ids that are in the topic: topic and store count together.
    assert seen == {
        (key or b"").decode(): " ".join((record.value or b"").decode() for record in records)
        for key, records in written.items()
    }
