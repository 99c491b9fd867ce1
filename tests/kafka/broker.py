"""A real Kafka broker for tests: one KRaft node, started from the jars and stopped by its process id."""

from __future__ import annotations

import atexit
import ctypes
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

from tests.kafka.jars import java, kafka_jars
from tests.kafka.proxy import Proxy

_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT
listeners=PLAINTEXT://127.0.0.1:{plain},PROXIED://127.0.0.1:{behind},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},PROXIED://127.0.0.1:{proxy}
log.dirs={directory}/data
auto.create.topics.enable=false
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=200
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
num.network.threads=2
num.io.threads=4
background.threads=2
log.cleaner.threads=1
controlled.shutdown.enable=false
"""


class Broker:
    """Start it with `start()`; `stop()` ends it, and so does the end of this process, however it comes."""

    def __init__(self, directory: Path, *, short_lived: bool = True) -> None:
        self.directory = directory
        self._short_lived = short_lived
        self.proxy = Proxy()
        self._plain, self._behind, self._controller = _free_ports(3)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._plain}"

    @property
    def proxied_servers(self) -> str:
        """The same broker behind `proxy`: all traffic of a client that starts here goes through it."""
        return f"127.0.0.1:{self.proxy.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker is not running"
        return self._process.pid

    def start(self) -> Broker:
        """Format the storage on the first start, then run the broker and wait until it answers."""
        settings = self.directory / "server.properties"
        if not settings.exists():
            self.directory.mkdir(parents=True, exist_ok=True)
            settings.write_text(
                _SETTINGS.format(
                    controller=self._controller,
                    plain=self._plain,
                    behind=self._behind,
                    proxy=self.proxy.port,
                    directory=self.directory,
                )
            )
            cluster = uuid.uuid4().hex[:22]
            self.tool("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings))
        self.proxy.target = self._behind
        with (self.directory / "broker.log").open("ab") as output:
            options = ["-Xmx768m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
            self._process = subprocess.Popen(
                [*_java(*options, quick=self._short_lived), "kafka.Kafka", str(settings)],
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - the only way, and nothing else runs in it
            )
        atexit.register(self.stop)
        self._wait_until_up()
        return self

    def _wait_until_up(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                for port in (self._plain, self._behind):
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.stop()
        raise RuntimeError(
            f"the broker did not start:\n{(self.directory / 'broker.log').read_text()[-4000:]}"
        )

    def stop(self) -> None:
        """End the process: politely, then for good."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def close(self) -> None:
        """Stop the broker and the proxy."""
        self.stop()
        self.proxy.close()

    def tool(self, main_class: str, *arguments: str) -> str:
        """What one of Kafka's own command-line tools prints."""
        command = [*_java("-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"), main_class]
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode != 0:
            raise RuntimeError(f"{main_class} failed:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def consumer_groups(self, *arguments: str) -> str:
        """What `kafka-consumer-groups.sh` prints."""
        main = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
        return self.tool(main, "--bootstrap-server", self.bootstrap_servers, *arguments)


def _java(*options: str, quick: bool = True) -> list[str]:
    # A process that lives for seconds is served best by the quick compiler alone; a benchmark wants the good one.
    tuning = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"] if quick else []
    return [java(), *tuning, *options, "-cp", f"{kafka_jars()}/*"]


def die_with_parent() -> None:
    """For `preexec_fn`: if the test run is killed, nobody stops its processes, so ask the kernel to (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in sockets]
    for server in sockets:
        server.close()
    return ports
