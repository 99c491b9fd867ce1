"""What goes beyond Kafka Streams, on Spark: in several batches and four partitions, what the test driver gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace import log_and_continue
from headrace.errors import CallbackError
from headrace.topology.topology import Topology
from tests.spark import beyond_topologies as topologies
from tests.spark.harness import Application, Part, append, encoded, flat, reference
from tests.spark.harness.inputs import parts
from tests.spark.test_operators_on_spark import check_partitions


@pytest.mark.parametrize(
    ("topology", "inputs"),
    [(topologies.duplicates(), parts("in", late=90)), (topologies.calls(), parts("in", late=30))],
    ids=["duplicates", "calls"],
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
