"""An application without Spark: the same source, stages and commits, called one after the other in this process.

For what is about stores, changelogs and commits, and needs many runs.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import TracebackType
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
from headrace.spark.together import run_together
from headrace.topology.topology import Topology
from tests.spark.harness.application import named_topics
from tests.spark.harness.records import Part, Rec, append, read_topic


class BrokenOffError(Exception):
    """A batch that was not published."""


class Sparkless:
    """Runs a topology; `start` and `stop` can be called again and again, with other topologies. As a context manager it
    runs inside the block, and is closed at its end.

    A batch goes through the stages as one that is divided, or `together` as a small one: from reading to results.
    """

    def __init__(
        self,
        topology: Topology,
        folder: Path,
        *,
        application_id: str = "app",
        partitions: int = 4,
        topics: Mapping[str, int] | None = None,
        slots: int = 2,
        together: bool = False,
        **settings: Any,
    ) -> None:
        self.topology = topology
        self.together = together
        self.batches: list[Batch] = []
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
            base = base_commit(
                opened.log,
                topology,
                opened.layout,
                last,
                self.config,
                accept_changes=opened.accept_changes,
            )
        except BaseException:
            opened.close()
            self.opened = None
            raise
        self.shipment = shipped(topology, self.config, opened, base, self.slots)
        self.runtime = Runtime(self.shipment)
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

    def restart(self) -> None:
        self.stop()
        self.start()

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

    def batch(self, plan: Plan | None = None, *, publish: bool = True) -> Batch:
        """One batch, the next one if no plan is given: read, run the stages, publish. Without `publish` it ends as if
        the driver had died before its transaction.
        """
        table = self.table(plan or self.next_plan())
        if not publish:
            raise BrokenOffError
        self.batches.append(self.committer.publish(table, Stopwatch()))
        return self.batches[-1]

    def next_plan(self, base: CommitRecord | None = None) -> Plan:
        """The plan of the next batch, which there must be."""
        plan = self.planner.plan(base or self.committer.base)
        assert plan is not None
        return plan

    def table(self, plan: Plan) -> pa.Table:
        """What comes of a plan, for the driver."""
        numbers = range(max((len(ends) for ends in plan.ends.values()), default=1))
        made = read_rows(self.runtime, plan, numbers, control=True)
        rows = [row for rows in (run_together(self.runtime, made) if self.together else made) for row in rows]
        for number in range(1, self.runtime.layout.stages + 1) if not self.together else ():
            rows = self._stage(number, rows)
        return pa.Table.from_batches([to_batch([row for row in rows if row.stage == DRIVER])])

    def fed(self, topic: str, records: Iterable[tuple[bytes, bytes | None, int]]) -> Batch:
        """Append records of a topic, and run one batch over them."""
        self.append(topic, records)
        return self.batch()

    def append(self, topic: str, records: Iterable[tuple[bytes, bytes | None, int]]) -> None:
        """Append records of a topic."""
        append(self.log, {topic: [Rec(*record) for record in records]})

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

    def content(self, store: str) -> dict[bytes, bytes]:
        """All bytes of a store, over all tasks, as of the last batch."""
        found: dict[bytes, bytes] = {}
        for placement in self.runtime.layout.placements:
            if any(spec.name == store for spec in placement.sub.stores):
                for task_id in placement.task_ids():
                    found.update(self.runtime.hosted(task_id).local.backend(store).range(None, None))
        return found

    def read(self, topic: str) -> dict[int, list[Rec]]:
        """All of a topic, by partition."""
        return read_topic(self.log, topic)

    def close(self) -> None:
        self.stop()
        self.log.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def shipped(
    topology: Topology, config: StreamsConfig, opened: Opened, base: CommitRecord, slots: int
) -> Shipment:
    """What the workers would get."""
    run, topics = uuid.uuid4().hex, opened.available
    return Shipment(run, base.incarnation, topology, config, topics, slots, None, base.task_count)
