"""A real Spark cluster on this machine: a master and two workers from the pip package, each worker a host of its own.

The workers have loopback addresses of their own, so that Spark takes them for two hosts, and folders of their own for
state. Nothing of this repository is on their Python path: what tasks need has to be shipped.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from headrace.failpoints import HOLD
from headrace.spark.java import find_java
from headrace.spark.shims import java_home
from tests.cluster.processes import descendants, executors, workers
from tests.kafka.broker import die_with_parent
from tests.quick_java import for_all_java

HOSTS = ("127.0.0.2", "127.0.0.3")
TIMEOUT = 60


class StandaloneCluster:
    """Use it as a context manager: at the end none of its processes is left, also when a test fails."""

    def __init__(self, folder: Path, *, cores: int = 1) -> None:
        self.folder = folder
        self._cores = cores
        self._port = _free_port()
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def state(self, host: str) -> Path:
        """Where a host keeps its local stores."""
        return self.folder / host / "state"

    @property
    def failpoints(self) -> Path:
        """A folder: a file in it stops the next worker that passes the point of its name."""
        return self.folder / "failpoints"

    def hold(self, point: str) -> None:
        """Have the next worker that passes this point wait there."""
        fresh = self.failpoints / f".{point}"
        fresh.write_text(HOLD)
        fresh.rename(self.failpoints / point)

    def wait_until_held(self, point: str) -> Path:
        """Until a worker waits at a point; it goes on when the file is taken away."""
        held = self.failpoints / f"{point}.held"
        self._wait(held.exists, f"nobody came to `{point}`")
        return held

    def executors(self, host: str) -> list[int]:
        """The processes of the executors of a host."""
        return executors(self._workers[host].pid)

    def python_workers(self, host: str) -> list[int]:
        """The Python processes that run tasks on a host."""
        return workers(self._workers[host].pid)

    def __enter__(self) -> StandaloneCluster:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _start(self) -> None:
        self.failpoints.mkdir(parents=True)
        package = "org.apache.spark.deploy"
        options = ["--host", "127.0.0.1", "--port", str(self._port), "--webui-port", "0"]
        self._master = self._run("127.0.0.1", f"{package}.master.Master", *options)
        self._wait(lambda: _answers("127.0.0.1", self._port), "the master did not start")
        for host in HOSTS:
            options = ["--host", host, "--cores", str(self._cores), "--memory", "1500m", "--webui-port", "0"]
            options += ["--work-dir", str(self.folder / host / "work"), self.url]
            self._workers[host] = self._run(host, f"{package}.worker.Worker", *options)
        for host in HOSTS:
            self._wait(lambda h=host: "Successfully registered" in self.said(h), f"{host} did not register")  # type: ignore[misc]

    def _run(self, host: str, main: str, *options: str) -> subprocess.Popen[bytes]:
        home = self.folder / host
        (home / "local").mkdir(parents=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "JAVA_HOME": java_home(find_java()),
            "SPARK_HOME": _find_spark_home(),
            "SPARK_LOCAL_IP": host,
            "SPARK_LOCAL_DIRS": str(home / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dspark.master.rest.enabled=false",
            **for_all_java(),
            # What says where the disk for local stores is, on this host.
            "HEADRACE_STATE_DIR": str(self.state(host)),
            "HEADRACE_FAILPOINTS": str(self.failpoints),
        }
        with (home / "said.txt").open("wb") as output:
            return subprocess.Popen(
                [f"{_find_spark_home()}/bin/spark-class", main, *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=home,
                env=environment,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - the only way, and nothing else runs in it
            )

    def said(self, host: str) -> str:
        """All that a worker has printed."""
        return (self.folder / host / "said.txt").read_text(errors="replace")

    def executor_logs(self) -> str:
        """What the executors have printed."""
        files = sorted(self.folder.glob("*/work/*/*/std*"))
        return "\n".join(f"== {file}\n{file.read_text(errors='replace')[-3000:]}" for file in files)

    def _wait(self, reached: object, failure: str) -> None:
        assert callable(reached)
        deadline = time.monotonic() + TIMEOUT
        while not reached():
            assert time.monotonic() < deadline, failure
            time.sleep(0.05)

    def close(self) -> None:
        """End all processes: the workers with their executors, then the master."""
        for process in (*self._workers.values(), *([self._master] if self._master else [])):
            left = descendants(process.pid)
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._workers, self._master = {}, None


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    with StandaloneCluster(Path(sys.argv[1])) as cluster:
        print(cluster.url, flush=True)
        signal.pause()
