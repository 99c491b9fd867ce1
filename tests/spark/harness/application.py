"""An application in this process, with a folder of its own for stores, and for topics unless they are on Kafka."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headrace.app import Streams
from headrace.config import StreamsConfig
from headrace.log import TopicLog, log_config, open_log
from headrace.spark.publish import Batch
from headrace.topology.topology import Topology
from tests.spark.harness.records import Part, Rec, append, read_topic

TIMEOUT = 180
"""Seconds that a slow machine may take for a start or a batch."""


class Application:
    """Runs a topology on the Spark session that all tests share. Used as a context manager, it runs inside the block;
    `start` and `stop` can be called again and again, for restarts.
    """

    def __init__(
        self,
        topology: Topology,
        folder: Path,
        *,
        application_id: str = "app",
        partitions: int = 4,
        topics: Mapping[str, int] | None = None,
        **settings: Any,
    ) -> None:
        self.topology = topology
        # Nearly all batches of tests are small: without this, nothing would ever go through stages and shuffles.
        self.settings = {"default_partitions": partitions, "small_batch_records": 0, **settings}
        self.config = StreamsConfig(application_id=application_id, data_dir=str(folder), **self.settings)
        self.log: TopicLog = open_log(log_config(self.config))
        existing = self.log.topics()
        for topic in named_topics(topology):
            if topic not in existing:
                self.log.create_topic(topic, (topics or {}).get(topic, partitions))
        for topic, count in (topics or {}).items():
            if topic not in self.log.topics():
                self.log.create_topic(topic, count)
        self.streams: Streams | None = None
        self.batches: list[Batch] = []

    def create(self, topology: Topology | None = None, **settings: Any) -> Streams:
        """An application that is still to be started, by the test itself."""
        assert self.streams is None, "it runs already"
        streams = Streams(topology or self.topology, self.config, **settings)
        streams.on_batch(self.batches.append)
        self.streams = streams
        return streams

    def start(self, topology: Topology | None = None, **settings: Any) -> Streams:
        """Start, or start again."""
        return self.create(topology, **settings).start()

    def stop(self) -> None:
        """Stop between two batches."""
        if self.streams is not None:
            self.streams.close()
            self.streams = None

    def feed(self, *parts: Part) -> None:
        """Append each part and wait until it is committed: one batch or more for each."""
        for part in parts:
            append(self.log, part)
            self.catch_up()

    def catch_up(self) -> None:
        """Wait until all input is committed."""
        assert self.streams is not None
        self.streams.wait_until_caught_up(TIMEOUT)

    def run(self, parts: Sequence[Part]) -> Self:
        """Start, feed the parts, stop."""
        self.start()
        self.feed(*parts)
        self.stop()
        return self

    def read(self, topic: str) -> dict[int, list[Rec]]:
        """All of a topic, by partition."""
        return read_topic(self.log, topic)

    def recoveries(self) -> set[str]:
        """The ways in which tasks came to their stores, in all batches since `batches` was emptied."""
        return {kind for batch in self.batches for kind in recoveries(batch)}

    def close(self) -> None:
        self.stop()
        self.log.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def recoveries(batch: Batch) -> set[str]:
    """The ways in which tasks with stores came to them."""
    return {report.recovery for report in batch.reports if "prepare" in report.seconds}


def named_topics(topology: Topology) -> list[str]:
    """The topics that it reads and writes under names of their own."""
    subs = topology.sub_topologies()
    sources = [topic for sub in subs for s in sub.sources if not s.repartition for topic in s.topics]
    sources += [topic for node in topology.global_stores for topic in node.source.topics]
    sinks = [s.topic for sub in subs for s in sub.sinks if not s.repartition and s.topic is not None]
    return list(dict.fromkeys([*sources, *sinks]))
