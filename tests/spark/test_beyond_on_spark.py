"""What goes beyond Kafka Streams, on Spark: in several batches and four partitions, what the test driver gives."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from headrace import log_and_continue
from headrace.errors import CallbackError
from headrace.topology.topology import Topology
from tests.spark import beyond_topologies as topologies
from tests.spark.harness import Application, Part, Rec, append, encoded, flat, reference
from tests.spark.harness.application import TIMEOUT
from tests.spark.harness.inputs import of_partition, parts
from tests.spark.test_operators_on_spark import check_partitions


@pytest.mark.parametrize(
    ("topology", "inputs"),
    [
        (topologies.duplicates(), parts("in", late=90)),
        (topologies.calls(), parts("in", late=30)),
        (topologies.lifetimes(), parts("table", "stream", late=80)),
    ],
    ids=["duplicates", "calls", "lifetimes"],
)
def test_each_partition_gives_what_its_own_driver_gives(
    topology: Topology, inputs: list[Part], application: Callable[..., Application]
) -> None:
    app = application(topology).run(inputs)
    check_partitions(app, topology, inputs)


def test_equal_ids_meet_whatever_their_keys_are(application: Callable[..., Application]) -> None:
    inputs = parts("in")
    topology = topologies.duplicates_by_id()
    app = application(topology).run(inputs)
    expected = reference(topology, inputs)
    assert sorted(flat(app.read("by-id"))) == sorted(expected.outputs["by-id"])
    assert len(expected.outputs["by-id"]) < sum(len(part["in"]) for part in inputs) / 2
    last = {record.key: record.value for record in expected.outputs["counts"]}
    assert {record.key: record.value for record in flat(app.read("counts"))} == last


def test_a_call_that_fails_names_node_record_and_line(application: Callable[..., Application]) -> None:
    app = application(topologies.failing_calls(), partitions=1)
    app.start()
    append(app.log, {"in": [encoded("k", "a1", 5), encoded("k", "a2", 6)]})
    assert app.streams is not None
    with pytest.raises(CallbackError, match="ValueError: no answer for a1") as caught:
        app.streams.wait(180)
    assert caught.value.node == "ask"
    assert caught.value.metadata == ("in", 0, 0)
    assert caught.value.origin is not None
    assert caught.value.origin.file == topologies.__file__


def test_what_may_fail_is_skipped_if_the_handler_says_so(application: Callable[..., Application]) -> None:
    app = application(
        topologies.failing_calls(),
        topics={"dead": 1},
        processing_handler=log_and_continue,
        dead_letter_topic="dead",
    )
    app.run([{"in": [encoded("k", f"a{number}", number) for number in range(20)]}])
    assert flat(app.read("out")) == []
    assert [record.value for record in flat(app.read("dead"))] == [f"a{n}".encode() for n in range(20)]


def test_rows_run_out_by_the_wall_clock_without_any_input(application: Callable[..., Application]) -> None:
    now = time.time_ns() // 1_000_000
    with application(topologies.by_the_clock()) as app:
        app.feed({"table": [encoded("k1", "a", now), encoded("k2", "b", now + 50)]})
        assert app.streams is not None
        until = time.monotonic() + TIMEOUT
        while len(flat(app.read("changes"))) < 4:
            assert time.monotonic() < until
            time.sleep(0.05)
        gone = [(record.key, record.value, record.timestamp) for record in flat(app.read("changes"))]
        assert (b"k1", None, now + 3000) in gone
        assert (b"k2", None, now + 3050) in gone
        assert list(app.streams.store("rows").all()) == []


@pytest.mark.parametrize(
    ("topology", "inputs", "outputs"),
    [
        (
            topologies.idle_windows(),
            parts("in", count=1, size=150, late=60, keys=20),
            ("closed", "sessions", "held"),
        ),
        (topologies.idle_joins(), parts("left", "right", count=1, size=150, late=60, keys=20), ("met",)),
    ],
    ids=["windows", "joins"],
)
def test_what_is_over_goes_out_while_nothing_comes_also_after_a_restart(
    topology: Topology, inputs: list[Part], outputs: tuple[str, ...], application: Callable[..., Application]
) -> None:
    expected: dict[str, dict[int, list[Rec]]] = {topic: {} for topic in outputs}
    for number in range(4):
        mine = reference(topology, of_partition(inputs, number, 4), wait=timedelta(hours=1)).outputs
        for topic in outputs:
            expected[topic][number] = mine.get(topic, [])
    app = application(topology)
    app.run(inputs)
    with app:
        until = time.monotonic() + TIMEOUT
        while any(len(flat(app.read(topic))) < len(flat(expected[topic])) for topic in outputs):
            assert time.monotonic() < until
            time.sleep(0.05)
    assert {topic: app.read(topic) for topic in outputs} == expected
