"""The one query of an application: source, stages by depth, and the commit at the end of each batch."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import SparkFailedError
from headrace.spark.progress import Progress, ProgressFile
from headrace.spark.publish import Batch, Committer
from headrace.spark.rows import SPARK_SCHEMA
from headrace.spark.ship import Shipment
from headrace.spark.source import NAME, HeadraceSource
from headrace.spark.stage import stage
from headrace.spark.stopwatch import Stopwatch


class SparkQuery:
    """Starts the query, and stops it between batches."""

    def __init__(
        self,
        spark: SparkSession,
        shipment: Shipment,
        committer: Committer,
        stages: int,
        on_batch: Callable[[Batch], None],
    ) -> None:
        self.spark = spark
        self.committer = committer
        self.error: BaseException | None = None
        self._on_batch = on_batch
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-run-"))
        self._file = ProgressFile(self._folder / "progress.json")
        self._lock = threading.Lock()
        self._paused = False
        self._stopping = False
        self._file.write(Progress(committer.base))
        self._query: StreamingQuery | None = None
        self._application = shipment.pack()
        self._slots = shipment.slots
        self._stages = stages
        self._name = f"{shipment.config.application_id}-{shipment.run[:8]}"

    def start(self) -> None:
        """Start; batches begin at once."""
        self.spark.dataSource.register(HeadraceSource)
        frame = (
            self.spark.readStream.format(NAME)
            .option("application", self._application)
            .option("progress", str(self._file.path))
            .load()
        )
        for number in range(1, self._stages + 1):
            frame = frame.repartition(self._slots, "slot").mapInArrow(
                stage(self._application, number), SPARK_SCHEMA
            )
        self._query = (
            frame.writeStream.queryName(self._name)
            .foreachBatch(self._batch)
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            # The checkpoint is thrown away at the end: positions come from the log. So its writes may lag.
            .option("asyncProgressTrackingEnabled", "true")
            .option("_asyncProgressTrackingOverrideSinkSupportCheck", "true")
            .start()
        )

    def _batch(self, frame: DataFrame, batch_id: int) -> None:
        try:
            watch = Stopwatch()
            table = frame.toArrow()
            watch.lap("run")
            batch = self.committer.publish(table, watch)
            self._tell()
            watch.lap("tell")
            # From the plan to here, Spark has planned the query of this batch.
            batch.seconds["plan"] = max(0.0, watch.began - batch.commit.wall_clock / 1000)
            self._on_batch(batch)
        except BaseException as error:
            self.error = error
            raise

    def _tell(self) -> None:
        with self._lock:
            self._file.write(Progress(self.committer.base, self._paused, self._stopping))

    def alive(self) -> bool:
        """Whether the query still runs."""
        try:
            return self._query is not None and self._query.isActive
        except (Py4JError, OSError) as error:
            self.error = SparkFailedError("Spark's Java process has ended: start the application again")
            self.error.__cause__ = error
            self._query = None
            return False

    @property
    def can_restart(self) -> bool:
        """Whether there is still a Spark to run on."""
        return self._query is not None

    def exception(self) -> BaseException | None:
        """What ended the query, when it was not one of our own errors."""
        found = None if self._query is None else self._query.exception()
        return None if found is None else SparkFailedError(_without_stack(str(found)))

    def stop(self, timeout: float) -> bool:
        """Plan no more, wait for the running batch, then stop. True when that went by the book."""
        query = self._query
        if query is None:
            shutil.rmtree(self._folder, ignore_errors=True)
            return True
        # Kept, because the running batch tells the planner of its commit after this.
        self._stopping = True
        self._tell()
        until = time.monotonic() + timeout
        while query.isActive and not self._file.stop_acknowledged() and time.monotonic() < until:
            time.sleep(0.01)
        clean = self._file.stop_acknowledged() or not query.isActive
        query.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
        return clean


def _without_stack(text: str) -> str:
    """The first line of what Spark says, without Java's stack."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "the query ended"
