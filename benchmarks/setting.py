"""What a run of the benchmark needs: a scratch folder, an embedded log, a broker, the input, the Java program."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AdminClient

from benchmarks.orders import EmbeddedFiller, KafkaFiller, create_topics, orders
from benchmarks.probes import PARTITIONS
from headrace.log import LogConfig, TopicLog, open_log
from tests.kafka.broker import Broker
from tests.kafka.jars import java, kafka_jars

HERE = Path(__file__).resolve().parent
ORDERS = "orders"
LONG_ORDERS = "orders-long"
BY_CUSTOMER = "orders-by-customer"


class Expected(NamedTuple):
    """What the input amounts to."""

    records: int
    paid: int
    cents: int


class Setting:
    """Made piece by piece, as rows ask for it; `close` ends and removes everything."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self.folder = folder
        self.say = say
        self.expected: dict[int, Expected] = {}
        """What so many orders amount to."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    @property
    def data(self) -> Path:
        """The data folder of Headrace: its embedded log is in it."""
        return self.folder / "data"

    @cached_property
    def log(self) -> TopicLog:
        return open_log(LogConfig(directory=str(self.data / "log")))

    @cached_property
    def broker(self) -> Broker:
        self.say("starting a broker")
        return Broker(self.folder / "kafka", short_lived=False).start()

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap_servers

    def fill(self, *, embedded: Mapping[str, int], kafka: Mapping[str, int]) -> None:
        """Write the same orders to all topics that will be read, to each as many as it is to have."""
        for topic in embedded:
            self.log.create_topic(topic, PARTITIONS)
        if kafka:
            create_topics(self.bootstrap, sorted(kafka))
        fillers: list[tuple[int, EmbeddedFiller | KafkaFiller]] = [
            (count, EmbeddedFiller(self.log, topic, by_customer=topic == BY_CUSTOMER))
            for topic, count in sorted(embedded.items())
        ]
        fillers += [
            (count, KafkaFiller(self.bootstrap, topic, by_customer=topic == BY_CUSTOMER))
            for topic, count in sorted(kafka.items())
        ]
        if not fillers:
            return
        sizes = {count for count, _ in fillers}
        self.say(f"writing up to {max(sizes):,} orders to {len(fillers)} topics")
        started, records, paid, cents, size = time.time(), 0, 0, 0, 0
        for block in orders(max(sizes)):
            for count, filler in fillers:
                filler.write(block[: max(0, count - records)])
            for one in block:
                records += 1
                order = json.loads(one.value)
                size += len(one.value)
                if order["status"] == "paid":
                    paid += 1
                    cents += round(order["amount"] * 100)
                if records in sizes:
                    self.expected[records] = Expected(records, paid, cents)
        for _, filler in fillers:
            filler.finish()
        self.say(f"written in {time.time() - started:.0f} s, {size / records:.0f} bytes a value")

    @cached_property
    def java_streams(self) -> list[str]:
        """The command of the Java program, compiled."""
        compiler = shutil.which("javac")
        if compiler is None:
            raise RuntimeError("there is no `javac` on the PATH, so the Java program cannot be compiled")
        classes = self.folder / "classes"
        classes.mkdir()
        jars = f"{kafka_jars()}/*"
        source = HERE / "peers" / "apps" / "KStreamsApp.java"
        subprocess.run([compiler, "-cp", jars, "-d", str(classes), str(source)], check=True)
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return [java(), "-Xmx1g", quiet, "-cp", f"{classes}:{jars}", "KStreamsApp"]

    def drop_topics(self, part: str) -> None:
        """Delete the topics whose names contain `part`, on both logs."""
        if "log" in self.__dict__:
            for name in [name for name in self.log.topics() if part in name]:
                self.log.delete_topic(name)
        if "broker" in self.__dict__:
            drop_topics(self.bootstrap, part)

    def close(self) -> None:
        if "broker" in self.__dict__:
            self.broker.close()
        if "log" in self.__dict__:
            self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def drop_topics(bootstrap: str, part: str) -> None:
    """Delete the topics on Kafka whose names contain `part`."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    names = [name for name in admin.list_topics(timeout=10).topics if part in name]
    if names:
        for future in admin.delete_topics(names).values():
            future.result(30)
