"""An application without Spark: the same source, stages and commits, called one after the other in this process.

For what is about stores, changelogs and commits, and needs many runs.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from headrace.app.beginning import base_commit
from headrace.app.opening import Opened, open_application
from headrace.app.reading import StoreReaders
from headrace.config import StreamsConfig
from headrace.log import TopicLog, log_config, open_log
from headrace.spark.commit import CommitRecord, Plan
from headrace.spark.planner import Planner
from headrace.spark.publish import Batch, Committer
from headrace.spark.reader import read_rows
from headrace.spark.rows import DRIVER, Row, to_batch
from headrace.spark.runtime import Runtime
from headrace.spark.ship import Shipment
from headrace.spark.source import planner_of
from headrace.spark.stage import run_slot
from headrace.spark.stopwatch import Stopwatch
from headrace.topology.topology import Topology
from tests.spark.harness.application import named_topics
from tests.spark.harness.records import Part, Rec, append, read_topic


class Sparkless:
    """Runs a topology; `start` and `stop` can be called again and again, with other topologies."""

    def __init__(
        self,
        topology: Topology,
        folder: Path,
        *,
        application_id: str = "app",
        partitions: int = 4,
        topics: Mapping[str, int] | None = None,
        slots: int = 2,
        **settings: Any,
    ) -> None:
        self.topology = topology
        self.config = StreamsConfig(application_id=application_id, data_dir=str(folder), **settings)
        self.log: TopicLog = open_log(log_config(self.config))
        self.slots = slots
        existing = self.log.topics()
        for topic in named_topics(topology):
            if topic not in existing:
                self.log.create_topic(topic, (topics or {}).get(topic, partitions))
        self.opened: Opened | None = None

    def start(self, topology: Topology | None = None, **options: Any) -> Self:
        """As an engine does it, without a session."""
        assert self.opened is None, "it runs already"
        topology = topology or self.topology
        opened = self.opened = open_application(topology, self.config, **options)
        try:
            last = opened.publisher.last_commit()
            base = base_commit(opened.log, topology, opened.layout, last, self.config)
        except BaseException:
            opened.close()
            self.opened = None
            raise
        shipment = shipped(topology, self.config, opened, base, self.slots)
        self.runtime = Runtime(shipment)
        self.planner: Planner = planner_of(self.runtime)
        self.committer = Committer(opened.publisher, base, opened.layout, opened.kept)
        self.readers = StoreReaders(topology, opened.layout, self.config)
        return self

    def stop(self) -> None:
        if self.opened is not None:
            self.readers.close()
            self.runtime.close()
            self.opened.close()
            self.opened = None

    def feed(self, *parts: Part) -> None:
        """Append each part, and process it: one batch or more for each."""
        for part in parts:
            append(self.log, part)
            self.catch_up()

    def catch_up(self) -> list[Batch]:
        """All batches that can be planned."""
        made = []
        while (plan := self.planner.plan(self.committer.base)) is not None:
            made.append(self.batch(plan))
        self.readers.renew()
        return made

    def batch(self, plan: Plan) -> Batch:
        """One batch: read, run the stages, publish."""
        numbers = range(max((len(ends) for ends in plan.ends.values()), default=1))
        rows = [row for rows in read_rows(self.runtime, plan, numbers, control=True) for row in rows]
        for number in range(1, self.runtime.layout.stages + 1):
            rows = self._stage(number, rows)
        table = pa.Table.from_batches([to_batch([row for row in rows if row.stage == DRIVER])])
        return self.committer.publish(table, Stopwatch())

    def _stage(self, number: int, rows: Sequence[Row]) -> list[Row]:
        done = [row for row in rows if row.stage != number]
        mine = sorted((row for row in rows if row.stage == number), key=lambda row: row.slot)
        for _, group in groupby(mine, key=lambda row: row.slot):
            done += [row for made in run_slot(self.runtime, number, list(group)) for row in made]
        return done

    def run(self, parts: Sequence[Part]) -> Self:
        """Start, read what is there, feed the parts, stop."""
        self.start()
        try:
            self.catch_up()
            self.feed(*parts)
        finally:
            self.stop()
        return self

    def store(self, name: str) -> Any:
        """A store over all tasks."""
        return self.readers.store(name)

    def read(self, topic: str) -> dict[int, list[Rec]]:
        """All of a topic, by partition."""
        return read_topic(self.log, topic)

    def close(self) -> None:
        self.stop()
        self.log.close()


def shipped(
    topology: Topology, config: StreamsConfig, opened: Opened, base: CommitRecord, slots: int
) -> Shipment:
    """What the workers would get."""
    run, topics = uuid.uuid4().hex, opened.available
    return Shipment(run, base.incarnation, topology, config, topics, slots, None, base.task_count)
