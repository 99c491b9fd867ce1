"""On one host or on several: what that means for logs, folders and names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace import StreamsBuilder, StreamsConfig
from headrace.app import Streams
from headrace.app.metrics import Metrics
from headrace.errors import ProcessingError, StartError, StoreError
from headrace.spark.bundle import headrace_zip
from headrace.spark.commit import CommitRecord, Report
from headrace.spark.failure import pack_failure, unpack_failure
from headrace.spark.hosts import on_these_hosts
from headrace.spark.publish import Batch
from headrace.spark.session import settings_for
from headrace.state.disk import OvertakenError


@pytest.mark.parametrize("master", ["spark://head:7077", "yarn", "k8s://https://head:6443"])
def test_the_embedded_log_is_refused_where_workers_may_be_elsewhere(master: str, tmp_path: Path) -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).to("out")
    streams = Streams(builder.build(), application_id="app", data_dir=str(tmp_path / "data"), master=master)
    with pytest.raises(StartError) as raised:
        streams.start()
    assert f"the embedded log is a directory on one machine (`{tmp_path / 'data' / 'log'}`)" in str(
        raised.value
    )
    assert f"the workers of `{master}`" in str(raised.value)
    assert "set `bootstrap_servers`" in str(raised.value)
    assert not (tmp_path / "data").exists()


def test_paths_are_whole_before_they_are_sent_to_workers_with_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = StreamsConfig(application_id="app", state_dir="state", standby_dir="copies")
    config = on_these_hosts(given, "local-cluster[2,1,1024]")
    assert config.standby_path == tmp_path / "copies" / "app"
    assert config.log_path == tmp_path / ".headrace" / "log"
    assert config.state_path == tmp_path / "state" / "app"


def test_on_a_cluster_a_state_folder_must_be_the_same_path_for_all() -> None:
    kafka = StreamsConfig(application_id="app", bootstrap_servers="broker:9092")
    assert on_these_hosts(kafka, "yarn").state_path.is_absolute()
    copies = StreamsConfig(application_id="app", bootstrap_servers="broker:9092", standby_dir="copies")
    with pytest.raises(
        StartError, match=r"`standby_dir` is 'copies', and on a cluster .* HEADRACE_STANDBY_DIR"
    ):
        on_these_hosts(copies, "yarn")
    relative = StreamsConfig(application_id="app", bootstrap_servers="broker:9092", state_dir="state")
    with pytest.raises(
        StartError, match=r"`state_dir` is 'state', and on a cluster \(`yarn`\) .* HEADRACE_STATE_DIR"
    ):
        on_these_hosts(relative, "yarn")


def test_what_a_host_says_of_its_disk_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    config = StreamsConfig(application_id="app", state_dir="/elsewhere")
    monkeypatch.setenv("HEADRACE_STATE_DIR", "/fast-disk")
    assert config.state_path == Path("/fast-disk/app")


def test_a_worker_knows_its_executor_from_the_command_that_started_it() -> None:
    worker = (
        "import os, subprocess, sys\n"
        "code = 'from headrace.spark.hosts import place; print(place().host, place().executor, place())'\n"
        "subprocess.run([sys.executable, '-c', code], check=True)\n"
    )
    command = [sys.executable, "-c", worker, "--executor-id", "7", "--hostname", "node-3", "--cores", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["node-3", "7", "executor", "7", "on", "node-3"]


def test_an_error_of_a_worker_names_its_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.spark import failure, hosts

    monkeypatch.setattr(failure, "place", lambda: hosts.Place("node-3", "7"))
    error = unpack_failure(pack_failure(ValueError("no")))
    assert error.__notes__[0].startswith("in a worker (executor 7 on node-3):\n")


def test_errors_that_only_a_worker_knows_arrive_as_the_next_one_above() -> None:
    class OfTheUserError(ProcessingError):
        """A subclass in the user's file."""

    for error, kind in ((OvertakenError("meanwhile"), StoreError), (OfTheUserError("no"), ProcessingError)):
        arrived = unpack_failure(pack_failure(error))
        assert (type(arrived), arrived.message) == (kind, error.message)
    for error in (ValueError("caf\udce9"), ProcessingError("caf\udce9")):
        assert "caf\\udce9" in unpack_failure(pack_failure(error)).message, "text that is none is spelt out"


def test_a_task_that_runs_on_another_host_than_before_has_moved() -> None:
    metrics = Metrics("app", lambda: "RUNNING")
    for host in ("a", "a", "b", "b", "a"):
        metrics.add(batch(Report("0_0", host=host), Report("0_1", host="a"), Report("reader-0")))
    assert metrics.moves == 2


def batch(*reports: Report) -> Batch:
    commit = CommitRecord("x", 1, 0, {})
    return Batch(commit, {}, 0, 0, 0, list(reports), {"run": 0.0, "publish": 0.0})


def test_on_a_cluster_executors_find_our_code_and_that_of_the_user() -> None:
    path = "spark.executorEnv.PYTHONPATH"
    assert settings_for("spark://head:7077", {})[path] == headrace_zip().name
    theirs = settings_for("spark://head:7077", {path: "lib.zip", "spark.locality.wait": "1s"})
    assert theirs[path] == f"{headrace_zip().name}:lib.zip"
    assert theirs["spark.locality.wait"] == "1s"
    assert path not in settings_for("local[2]", {})


@pytest.mark.parametrize(
    ("module", "said"), [("pyspark.sql.worker.plan_data_source_read", ""), ("other", "a trace")]
)
def test_a_process_that_only_describes_the_source_dies_silently(module: str, said: str) -> None:
    code = (
        "import sys; from headrace.spark.described import HeadraceSource\n"
        "HeadraceSource({}).schema(); print('a trace', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, module], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == said


def test_a_spark_that_tries_slow_tasks_twice_is_refused_before_it_starts(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).to("out")
    settings = {"spark.speculation": "true"}
    streams = Streams(builder.build(), application_id="app", data_dir=str(tmp_path), spark=settings)
    with pytest.raises(StartError, match=r"slow tasks twice \(`spark.speculation`\)"):
        streams.start()
    assert streams.state.name == "ERROR"
