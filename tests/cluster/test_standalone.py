"""The same application on a real cluster of two hosts, between topics of a real broker.

It is started by `headrace run`, loses an executor and a Python worker, is stopped, and goes on under `spark-submit`;
what it wrote is what the test driver writes, and its tasks stay where their stores are.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.find_spark_home import _find_spark_home

from headrace.log import LogConfig, TopicLog, open_log
from headrace.spark.commit import CommitRecord, decode
from headrace.spark.java import find_java
from headrace.spark.shims import java_home
from tests.chaos import counting_app
from tests.chaos.checks import PARTITIONS, TOPICS, check_output, some_parts, wait_until_committed
from tests.chaos.drivers import ROOT, TIMEOUT, drivers
from tests.cluster.processes import descendants, kill
from tests.cluster.standalone import HOSTS, StandaloneCluster
from tests.kafka.broker import Broker
from tests.kafka.reading import read_committed
from tests.spark.harness import Part, append, reference

BATCHES = 10

ON_A_HOST = """
import os

import counting
import headrace

if "HEADRACE_STATE_DIR" in os.environ:  # on a host of the cluster, all comes from what was sent
    for file in (__file__, counting.__file__, headrace.__file__):
        assert ".zip" in file, file
"""
SCRIPT = """
import json
import sys
import time

from headrace import Streams
from counting import topology

if __name__ == "__main__":
    servers, application_id, records = sys.argv[1:]
    ran = []
    with Streams(topology, application_id=application_id, bootstrap_servers=servers) as streams:
        streams.on_batch(ran.append)
        while streams.metrics.records < int(records) and not streams.state.has_ended:
            time.sleep(0.05)
        hosts = {report.task: report.host for batch in ran for report in batch.reports if report.host}
        metrics = streams.metrics
        store = streams.store("counts")
        rows = sorted(store.all()), store.get("k1")
        print(json.dumps([metrics.commits, metrics.moves, metrics.restored, hosts, *rows]), flush=True)
"""


@pytest.fixture
def log(broker: Broker) -> Iterator[TopicLog]:
    log = open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers))
    before = set(log.topics())
    for topic in TOPICS:
        log.create_topic(topic, PARTITIONS)
    yield log
    for topic in set(log.topics()) - before:
        log.delete_topic(topic)
    log.close()


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """An application of two modules in a folder that the workers do not look into."""
    folder = tmp_path / "app"
    folder.mkdir()
    shutil.copy(counting_app.__file__, folder / "counting.py")
    (folder / "app.py").write_text(f"{ON_A_HOST}from counting import topology\n")
    (folder / "script.py").write_text(ON_A_HOST + SCRIPT)
    return folder


def test_the_same_application_on_a_cluster(
    cluster: StandaloneCluster,
    broker: Broker,
    log: TopicLog,
    app: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    waiting = some_parts(60)
    fed: list[Part] = []
    application_id = f"cluster-{uuid.uuid4().hex[:8]}"
    servers = broker.bootstrap_servers

    def feed() -> None:
        fed.append(waiting.pop(0))
        append(log, fed[-1])

    def hosts_of_stores() -> dict[str, str]:
        deadline = time.monotonic() + TIMEOUT
        while (found := log.committed(application_id)) is None:
            # A broker takes a moment to show others what was committed.
            assert time.monotonic() < deadline, "nothing is committed"
            time.sleep(0.05)
        commit = decode(found, CommitRecord)
        return {task: done.host for task, done in commit.tasks.items()}

    options = ("--application-id", application_id, "--bootstrap-servers", servers, "--master", cluster.url)
    with drivers(tmp_path, str(app / "app.py"), *options) as made:
        driver = made.start()
        feed()
        driver.wait_until_running()
        homes = hosts_of_stores()
        assert set(homes.values()) == set(HOSTS)
        # An executor is lost between its commit on disk and the end of the batch.
        cluster.hold("local_commit.after")
        feed()
        held = cluster.wait_until_held("local_commit.after")
        kill(cluster.executors(HOSTS[0])[0])
        held.unlink()
        wait_until_committed(log, application_id)
        # Its host gets a new one, and then its tasks go home.
        while not homes.items() <= hosts_of_stores().items():
            assert len(waiting) > BATCHES, "they do not go home"
            feed()
            wait_until_committed(log, application_id)
            time.sleep(0.5)
        # And a Python worker of the other host at some time.
        feed()
        kill(cluster.python_workers(HOSTS[1])[0])
        feed()
        wait_until_committed(log, application_id)
        driver.process.terminate()
        assert driver.wait() == 0, driver.said()
    check_output(partial(read_committed, servers), fed)

    more = waiting[:BATCHES]
    commits, moves, restored, hosts, rows, one = submit(cluster, app, log, servers, application_id, more)
    check_output(partial(read_committed, servers), [*fed, *more])
    assert commits >= BATCHES
    assert moves == 0
    assert {task: hosts[task] for task in homes} == homes
    assert restored == 0, "a start finds the stores where they are"
    # The driver reads stores that are on other hosts.
    counts = sorted(reference(counting_app.topology, [*fed, *more], stores=["counts"]).stores["counts"])
    assert [tuple(row) for row in rows] == counts
    assert one == dict(counts)["k1"]


def submit(
    cluster: StandaloneCluster,
    app: Path,
    log: TopicLog,
    servers: str,
    application_id: str,
    inputs: list[Part],
) -> list[Any]:
    """Go on with the application in a script that `spark-submit` runs; append batch after batch."""
    home = _find_spark_home()
    command = [f"{home}/bin/spark-submit", "--master", cluster.url, "--conf", "spark.log.level=ERROR"]
    environment = {
        "SPARK_HOME": home,
        "JAVA_HOME": java_home(find_java()),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT / "src"),
    }
    records = sum(len(part["in"]) for part in inputs)
    with (app / "said.txt").open("w+") as said:
        script = subprocess.Popen(
            [*command, str(app / "script.py"), servers, application_id, str(records)],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env=os.environ | environment,
        )
        try:
            for part in inputs:
                append(log, part)
                wait_until_committed(log, application_id)
            printed, _ = script.communicate(timeout=60)
            assert script.returncode == 0, (app / "said.txt").read_text()
            found: list[Any] = json.loads(printed.splitlines()[-1])
            return found
        finally:
            for pid in [*descendants(script.pid), script.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            script.wait()
