"""A reset, and the run after it on Spark: as a first run, whatever was there before."""

from __future__ import annotations

from collections.abc import Callable

from headrace import StreamsBuilder
from headrace.admin.reset import plan_reset, reset
from headrace.admin.stopped import stopped
from headrace.topology.topology import Topology
from tests.spark.harness import Application, Rec, by_key, encoded, flat


def counting() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("in", value=str)
    words.group_by_key().count(store="counts").to_stream().to("out", value=int)
    words.group_by(lambda key, value: value[0]).count(store="letters").to_stream().to("letters", value=int)
    return builder.build()


RECORDS = [encoded(f"k{n % 7}", "abc"[n % 3], n) for n in range(60)]


def test_a_run_after_a_reset_is_a_first_run(application: Callable[..., Application]) -> None:
    app = application(counting(), partitions=2)

    def stores() -> list[dict[str, int]]:
        assert app.streams is not None
        return [dict(app.streams.store(name).all()) for name in ("counts", "letters")]

    def written(topic: str) -> dict[bytes | None, list[Rec]]:
        return by_key(flat(app.read(topic)))

    with app:
        app.feed({"in": RECORDS[:30]}, {"in": RECORDS[30:]})
        first = stores()
    outputs = {topic: written(topic) for topic in ("out", "letters")}
    assert sum(first[0].values()) == 60
    with stopped(app.topology, app.config) as found:
        reset(found, plan_reset(found))
    app.batches.clear()
    with app:
        app.catch_up()
        assert stores() == first
        app.feed({"in": RECORDS[:7]})
        assert sum(stores()[0].values()) == 67
    assert app.recoveries() == {"empty", "same"}, "nothing of the old stores was used"
    for topic, before in outputs.items():
        again = written(topic)
        assert {key: rows[: 2 * len(before[key])] for key, rows in again.items()} == {
            key: rows * 2 for key, rows in before.items()
        }
