"""A rescaling between two runs on Spark, of an application of several stages."""

from __future__ import annotations

from collections.abc import Callable

from headrace.admin.rescale.moving import rescale
from headrace.admin.rescale.plan import plan_rescale
from headrace.admin.stopped import stopped
from tests.spark import topologies
from tests.spark.harness import Application, by_key, flat, reference
from tests.spark.harness.inputs import parts


def test_more_tasks_and_fewer_between_runs(application: Callable[..., Application]) -> None:
    """Every result under every key is that of the test driver, which has one task for all."""
    inputs, topology = parts("in", count=3, keys=30), topologies.aggregates()
    app = application(topology)
    for part, tasks in zip(inputs, (6, 3, None), strict=True):
        app.run([part])
        if tasks is not None:
            with stopped(topology, app.config) as found:
                rescale(found, plan_rescale(found, tasks))
    assert app.log.topics()["app-by-key-changelog"] == 3
    expected = reference(topology, inputs).outputs
    for topic in ("counts", "letter-counts", "totals", "highest"):
        assert by_key(flat(app.read(topic))) == by_key(expected[topic])
