"""An application without Spark: what planner, workers and driver do for a batch, one after the other, here."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from headrace.app.beginning import base_commit
from headrace.app.topics import prepare_topics
from headrace.config import StreamsConfig
from headrace.log import log_config, open_log
from headrace.log.base import Outgoing
from headrace.spark.commit import CommitRecord, Plan
from headrace.spark.layout import lay_out
from headrace.spark.planner import Planner
from headrace.spark.publish import Batch, Committer
from headrace.spark.reader import read_rows
from headrace.spark.rows import to_batch
from headrace.spark.runtime import Runtime
from headrace.spark.ship import Shipment
from headrace.spark.stopwatch import Stopwatch
from headrace.spark.together import run_together
from headrace.topology.topology import Topology


class OfflineApplication:
    """Real log, real stores, real tasks; batches happen when they are asked for."""

    def __init__(self, topology: Topology, folder: Path, **settings: Any) -> None:
        options = {"application_id": "app", "data_dir": str(folder), "default_partitions": 2, **settings}
        self.config = StreamsConfig(**options)
        self.topology = topology
        self.log = open_log(log_config(self.config))
        self.topics = dict(prepare_topics(self.log, topology, self.config))
        self.layout = lay_out(
            topology, self.config.application_id, self.topics, self.config.default_timestamp_extractor
        )
        self.batches: list[Batch] = []
        self.start()

    def start(self) -> None:
        """Begin where the last commit was; called again, as a restart does."""
        self.publisher = self.log.publisher(self.config.application_id)
        base = base_commit(self.log, self.topology, self.layout, self.publisher.last_commit(), self.config)
        self.shipment = Shipment(
            uuid.uuid4().hex, base.incarnation, self.topology, self.config, self.topics, 2
        )
        self.runtime = Runtime(self.shipment)
        self.committer = Committer(self.publisher, base, self.layout)
        config = self.config
        self.planner = Planner(
            self.log,
            self.layout.topics,
            self.layout.global_partitions,
            config.max_batch_records,
            config.max_batch_bytes,
        )

    def stop(self) -> None:
        self.runtime.close()
        self.publisher.close()

    def restart(self) -> None:
        self.stop()
        self.start()

    def feed(self, topic: str, records: Iterable[tuple[bytes, bytes | None, int]]) -> Batch:
        """Append records and run one batch over them."""
        self.append(topic, records)
        return self.batch()

    def append(self, topic: str, records: Iterable[tuple[bytes, bytes | None, int]]) -> None:
        """Append records."""
        keys, values, times = zip(*records, strict=True)
        self.log.append([Outgoing(topic, list(keys), list(values), list(times))])

    def batch(self, *, publish: bool = True) -> Batch:
        """The next batch; without `publish` it ends as if the driver had died before its transaction."""
        table = self.run(self.plan(self.committer.base))
        if not publish:
            raise BrokenOffError
        self.batches.append(self.committer.publish(table, Stopwatch()))
        return self.batches[-1]

    def plan(self, base: CommitRecord) -> Plan:
        """The plan of the next batch."""
        plan = self.planner.plan(base)
        assert plan is not None
        return plan

    def run(self, plan: Plan) -> pa.Table:
        """What comes of a plan, for the driver."""
        numbers = range(max(self.layout.topics.values()))
        made = read_rows(self.runtime, plan, numbers, control=True)
        done = [row for part in run_together(self.runtime, made) for row in part]
        return pa.Table.from_batches([to_batch(done)])

    def content(self, store: str) -> dict[bytes, bytes]:
        """All bytes of a store, over all tasks, as of the last batch."""
        found: dict[bytes, bytes] = {}
        for placement in self.layout.placements:
            if any(spec.name == store for spec in placement.sub.stores):
                for task_id in placement.task_ids():
                    found.update(self.runtime.hosted(task_id).local.backend(store).range(None, None))
        return found

    def close(self) -> None:
        self.stop()
        self.log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BrokenOffError(Exception):
    """A batch that was not published."""
