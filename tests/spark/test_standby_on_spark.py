"""A standby beside an application on Spark: the disk is lost, the copies are taken over, nothing else changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from headrace import StreamsBuilder
from headrace.restore.monitor import RestoreMonitor
from headrace.restore.standby import statuses
from headrace.spark.restores import RestoreEvent
from tests.spark import topologies
from tests.spark.harness import Application, encoded, reference
from tests.spark.harness.inputs import of_partition, parts
from tests.spark.harness.processes import kill_workers
from tests.spark.test_state_on_spark import wait_for

PARTITIONS = 2


def test_a_restart_after_losing_the_disk_takes_the_copies_over(
    application: Callable[..., Application],
) -> None:
    """Windows of all kinds; restored is only what came after the standby had ended."""
    topology = topologies.windows()
    inputs = parts("in", late=120, size=1_500, keys=600, count=3)
    app = application(topology, partitions=PARTITIONS, num_standby_replicas=1)
    app.start()
    app.feed(*inputs[:2])
    commit = app.batches[-1].commit.number
    wait_for(lambda: any(s.commit == commit and not s.behind for s in statuses(app.config)))
    app.stop()
    (status,) = statuses(app.config)
    wait_for(lambda: not Path(f"/proc/{status.pid}").exists())
    kill_workers(os.getpid())  # idle ones still have the files open
    shutil.rmtree(app.config.state_path)
    app.batches.clear()
    with app:
        app.feed(inputs[2])
        assert app.streams is not None
        metrics = app.streams.metrics
        content = dict(app.streams.store("tumbling").all())
    assert metrics.recoveries == {"taken_over": PARTITIONS}
    assert metrics.restored == 0
    expected = {}
    for number in range(PARTITIONS):
        found = reference(topology, of_partition(inputs, number, PARTITIONS), stores=["tumbling"])
        expected.update(found.stores["tumbling"])
        for topic, records in found.outputs.items():
            assert app.read(topic)[number] == records
    assert content == expected


def test_a_long_restore_is_told_while_it_runs_and_summed_up_at_the_end(
    application: Callable[..., Application],
) -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by_key().reduce(lambda old, new: new, store="latest")
    app = application(builder.build(), partitions=PARTITIONS)
    rows = [encoded(f"k{n}", "a" * 40 + str(n), n) for n in range(60_000)]
    app.run([{"in": rows}])
    kill_workers(os.getpid())
    shutil.rmtree(app.config.state_path)
    app.batches.clear()
    app.start()
    assert app.streams is not None
    monitor: RestoreMonitor = app.streams._engine.restores
    heard: list[RestoreEvent] = []
    monitor.subscribe(heard.append)
    app.feed({"in": [encoded("k1", "b", 70_000)]})
    metrics = app.streams.metrics
    app.stop()
    assert app.batches[0].divided, "tasks restore side by side"
    stores = {(event.task, event.store) for event in heard}
    assert len(stores) >= PARTITIONS
    for key in stores:
        mine = [event for event in heard if (event.task, event.store) == key]
        assert mine[0].kind == "start"
        assert mine[-1].kind == "end"
        assert [event.kind for event in mine].count("end") == 1
        assert [event.offset for event in mine] == sorted(event.offset for event in mine)
    ended = [event for event in heard if event.kind == "end"]
    assert monitor.last is not None
    assert monitor.last.records == sum(event.records for event in ended) == metrics.restored
    assert monitor.last.bytes == metrics.restored_bytes > 60_000 * 40
    assert metrics.restore_seconds > 0
    assert monitor.progress() is None
