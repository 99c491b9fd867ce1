"""Joins of streams, sliding windows, cogroups, final and suppressed results on Spark: in several batches and four
partitions, what the test driver gives.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from headrace.record import Headers
from headrace.topology.topology import Topology
from tests.spark import stream_topologies as topologies
from tests.spark.harness import Application, Part, flat, reference
from tests.spark.harness.inputs import parts
from tests.spark.test_operators_on_spark import check_partitions


@pytest.mark.parametrize(
    ("topology", "inputs"),
    [
        (topologies.stream_joins(), parts("left", "right", late=80, size=100, keys=12)),
        (topologies.sliding_windows(), parts("in", late=80)),
        (topologies.final_results(), parts("in", late=60, size=100)),
        (topologies.suppressed(), parts("in", late=60, size=100)),
        (topologies.joins_with_grace(), parts("stream", "table", late=40, size=100)),
        (topologies.cogroups(), parts("left", "right", late=50)),
    ],
    ids=["stream-joins", "sliding-windows", "final-results", "suppressed", "joins-with-grace", "cogroups"],
)
def test_each_partition_gives_what_its_own_driver_gives(
    topology: Topology, inputs: list[Part], application: Callable[..., Application]
) -> None:
    app = application(topology).run(inputs)
    check_partitions(app, topology, inputs)


def test_as_many_pairs_meet_behind_a_repartition(application: Callable[..., Application]) -> None:
    """Repartitioned records of several partitions come in an order of their own, so only the totals are fixed."""
    inputs = parts("left", "right", late=10)
    topology = topologies.rekeyed_stream_joins()
    app = application(topology).run(inputs)
    expected = {record.key: record.value for record in reference(topology, inputs).outputs["pairs"]}
    assert {record.key: record.value for record in flat(app.read("pairs"))} == expected


@pytest.mark.parametrize(
    ("topology", "inputs", "store", "marks"),
    [
        # The header is what Kafka Streams wants to see on such records.
        (topologies.suppressed(), parts("in", late=60, size=100), "final-store", (("v", b"\x03"),)),
        (topologies.joins_with_grace(), parts("stream", "table", late=40, size=100), "wait-Buffer", ()),
    ],
    ids=["suppressed", "joins-with-grace"],
)
def test_what_is_held_back_survives_a_lost_disk(
    topology: Topology,
    inputs: list[Part],
    store: str,
    marks: Headers,
    application: Callable[..., Application],
) -> None:
    app = application(topology)
    app.run(inputs[:2])
    changelog = flat(app.read(f"app-{store}-changelog"))
    assert {record.headers for record in changelog if record.value is not None} == {marks}
    shutil.rmtree(app.config.state_path)
    app.run(inputs[2:])
    check_partitions(app, topology, inputs)
