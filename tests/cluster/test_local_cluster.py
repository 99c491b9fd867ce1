"""Executors in processes of their own on this machine, with the embedded log: some are killed in mid-batch."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from headrace import StreamsConfig
from headrace.app.reading import StoreReaders
from headrace.failpoints import HOLD
from headrace.log.embedded import EmbeddedLog
from headrace.spark.layout import lay_out
from tests.chaos.checks import PARTITIONS, TOPICS, check_output, check_stores, wait_until_committed
from tests.chaos.counting_app import topology
from tests.chaos.drivers import drivers
from tests.cluster.processes import executors, kill
from tests.quick_java import for_all_java
from tests.spark.harness import append, read_topic
from tests.spark.harness.inputs import parts

POINT = "local_commit.after"
APP = """
from tests.chaos.counting_app import topology

config = {"small_batch_records": 0}  # small batches would have no stages, and so no shuffle to lose
"""


def test_an_executor_is_lost_in_mid_batch_and_nothing_is_lost_or_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in for_all_java().items():
        monkeypatch.setenv(name, value)
    inputs = parts("in", count=3, size=60, keys=20, late=120)
    options = ("--application-id", "app", "--master", "local-cluster[2,1,1024]")
    with EmbeddedLog(tmp_path / ".headrace" / "log") as log:
        for topic in TOPICS:
            log.create_topic(topic, PARTITIONS)
        # The folder is not named: what is relative to the driver's folder is found by executors in theirs.
        app = tmp_path / "app.py"
        app.write_text(APP)
        with drivers(tmp_path, str(app), *options) as made:
            driver = made.start()
            append(log, inputs[0])
            driver.wait_until_running()
            driver.arm(POINT, HOLD)
            append(log, inputs[1])
            driver.wait_until_hit(POINT)
            # Its files of the shuffle are gone with it: also what was done in the batch has to be done again.
            kill(executors(driver.process.pid)[0])
            (driver.failpoints / f"{POINT}.held").unlink()
            wait_until_committed(log, "app")
            append(log, inputs[-1])
            wait_until_committed(log, "app")
            driver.process.terminate()
            assert driver.wait() == 0, driver.said()
            assert "restored" not in driver.said(), "all executors of a host use the same stores"
        check_output(partial(read_topic, log), inputs)
        config = StreamsConfig(application_id="app", data_dir=str(tmp_path / ".headrace"))
        stores = StoreReaders(topology, lay_out(topology, "app", log.topics()), config)
        stores.renew()
        try:
            check_stores(stores, inputs)
        finally:
            stores.close()
