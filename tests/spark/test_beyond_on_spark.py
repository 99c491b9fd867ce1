"""What goes beyond Kafka Streams, on Spark: in several batches and four partitions, what the test driver gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.topology.topology import Topology
from tests.spark import beyond_topologies as topologies
from tests.spark.harness import Application, Part, flat, reference
from tests.spark.harness.inputs import parts
from tests.spark.test_operators_on_spark import check_partitions


@pytest.mark.parametrize(
    ("topology", "inputs"),
    [(topologies.duplicates(), parts("in", late=90))],
    ids=["duplicates"],
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
