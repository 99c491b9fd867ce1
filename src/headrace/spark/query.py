"""The one query of an application: source, stages by depth, and the commit at the end of each batch."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.beside import Beside
from headrace.errors import DiskFullError, SparkFailedError
from headrace.failpoints import failpoint
from headrace.spark.anchors import Anchors, anchors_for
from headrace.spark.callback import collect, each_batch
from headrace.spark.commit import CommitRecord, Report
from headrace.spark.described import NAME, register
from headrace.spark.failure import unpack_failure
from headrace.spark.full_disk import says_no_room, spark_disk_full, spark_room
from headrace.spark.handed import cannot_be_loaded
from headrace.spark.hosts import is_one_host
from headrace.spark.progress import Progress, ProgressFile
from headrace.spark.publish import Batch, Collected, Committer
from headrace.spark.rows import SPARK_SCHEMA
from headrace.spark.run_folder import RunFolder
from headrace.spark.session import driver_host
from headrace.spark.ship import Shipment
from headrace.spark.stage import stage
from headrace.spark.stopwatch import Stopwatch

logger = logging.getLogger("headrace")

BUSY = 0.2
"""Seconds of work in a batch, over all tasks, from which on the next one is better divided."""
ENDING = 10.0
"""Seconds that a query with an error gets to end by itself."""
PATIENCE = 90.0
"""Seconds that a stop waits for a commit under way: longer than its transaction may take."""


class SparkQuery:
    """Starts the query, and stops it between batches."""

    def __init__(
        self,
        spark: SparkSession,
        shipment: Shipment,
        committer: Committer,
        stages: int,
        on_batch: Callable[[Batch], None],
        *,
        paused: bool = False,
        until: dict[str, list[int]] | None = None,
    ) -> None:
        self.spark = spark
        self.committer = committer
        self.error: BaseException | None = None
        self.can_restart = True
        """Whether there is still a Spark to run on."""
        self._on_batch = on_batch
        self._folder = RunFolder()
        self._file = ProgressFile(self._folder.path / "progress.json")
        self._lock = threading.Lock()
        self._busy = False
        self._wanted = Progress(committer.base, paused=paused, until=until)
        self._file.write(self._wanted)
        self._one_host = driver_host(spark) is None
        self._publishing = Beside()
        self._ahead: CommitRecord | None = None
        self._query: StreamingQuery | None = None
        self._application = shipment.pack()
        self._slots = shipment.slots
        self._stages = [stage(self._application, number) for number in range(1, stages + 1)]
        self._anchors: Anchors | None = None
        if not is_one_host(spark.sparkContext.master or ""):
            self._anchors = anchors_for(spark, shipment.slots, committer.base.tasks)
            committer.several_hosts = True
        self._name = f"{shipment.config.application_id}-{shipment.run[:8]}"

    def start(self) -> None:
        """Start; batches begin at once."""
        register(self.spark)
        source = (
            self.spark.readStream.format(NAME)
            .option("application", self._application)
            .option("progress", str(self._file.path))
            .option("one_host", str(self._one_host).lower())
            .option("modules", os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path))
        )
        try:
            frame = source.load()
        except PySparkException as error:
            raise cannot_be_loaded(str(error), self.spark.sparkContext.pythonExec) from error
        writer = (
            frame.writeStream.queryName(self._name)
            # Only the driver uses it: a folder of its own machine, also where Spark's files are in HDFS.
            .option("checkpointLocation", (self._folder.path / "checkpoint").as_uri())
            # The checkpoint is thrown away at the end: positions come from the log. So its writes may lag.
            .option("asyncProgressTrackingEnabled", "true")
            .option("asyncProgressTrackingCheckpointIntervalMs", "5000")
            .option("_asyncProgressTrackingOverrideSinkSupportCheck", "true")
        )
        each_batch(self.spark, writer, self._batch)
        with spark_room(self.spark.sparkContext.getConf().get, one_host=self._one_host):
            query = writer.start()
        self._thread: Any = query._jsq.streamingQuery().queryExecutionThread()
        self._query = query

    def _batch(self, frame: DataFrame) -> None:
        try:
            failpoint("batch.before")
            watch = Stopwatch()
            divided = self._file.is_wide()
            table = collect(self._staged(frame) if divided else frame)
            watch.lap("run")
            collected = self.committer.take(table)
            self._file.drop_parcels()
            watch.lap("sort")
            self._publishing.wait()
            watch.lap("behind")
            self._busy = sum(map(worked, collected.reports)) > BUSY
            self._ahead = self.committer.coming(collected) if self._one_host else None
            if self._ahead is None:
                self._publish(collected, watch, divided)
            else:
                # The next batch may be planned and read meanwhile; its tasks wait for this commit with theirs.
                self._tell()
                self._publishing.start(lambda: self._publish(collected, watch, divided))
        except BaseException as error:
            self._fail(error)
            raise

    def _publish(self, collected: Collected, watch: Stopwatch, divided: bool) -> None:
        try:
            batch = self.committer.finish(collected, watch)
            batch.divided = divided
            # From the plan to here, Spark has planned the query of this batch.
            batch.seconds["plan"] = max(0.0, watch.began - batch.commit.wall_clock / 1000)
            if self._anchors is not None:
                self._anchors.follow(batch.reports)
            # Whoever reads the stores sees this commit, before a task may write the next one.
            self._on_batch(batch)
            self._ahead = None
            self._tell()
            failpoint("batch.told")
        except BaseException as error:
            self._fail(error)
            raise

    def _fail(self, error: BaseException) -> None:
        self.error = self.error or error
        self._file.give_up()

    def _staged(self, frame: DataFrame) -> DataFrame:
        """The way through the stages. A small batch needs none, and not to plan them is half of its time."""
        for run in self._stages:
            frame = frame.repartition(self._slots, "slot")
            if self._anchors is not None:
                frame = self._anchors.tie(frame)
            frame = frame.mapInArrow(run, SPARK_SCHEMA)
        return frame

    def _tell(self, **changes: Any) -> None:
        """Tell the planner of the newest commit, and of what else has changed."""
        with self._lock:
            self._wanted = msgspec.structs.replace(
                self._wanted, base=self.committer.base, ahead=self._ahead, busy=self._busy, **changes
            )
            self._file.write(self._wanted)

    def pause(self, paused: bool) -> None:
        """Whether the planner is to plan no more for a while. The running batch goes on to its commit."""
        self._ask(paused=paused)

    def hurry(self, hurry: bool) -> None:
        """Whether somebody waits for the end of what is there."""
        self._ask(hurry=hurry)

    def _ask(self, **changes: bool) -> None:
        if any(getattr(self._wanted, name) != value for name, value in changes.items()):
            with contextlib.suppress(FileNotFoundError):  # it has ended meanwhile
                self._tell(**changes)

    def alive(self) -> bool:
        """Whether the query still runs, and what it makes can be published."""
        return self.error is None and self._runs()

    def _runs(self) -> bool:
        try:
            return self._query is not None and self._query.isActive and self._thread_lives()
        except (Py4JError, OSError):
            return False  # Spark's own process has ended

    def _thread_lives(self) -> bool:
        """A query that fails while its source has commits to hear of dies before it can say that it has ended: Spark
        4.3 tells the source, which it has stopped already, and that error leaves the query active for ever.
        """
        return bool(self._thread.isAlive())

    def failure(self) -> BaseException:
        """What ended the query: an error of ours, or in a few words what Spark says."""
        told = self._file.failure()
        if told is not None:
            return unpack_failure(told)
        found = self.error
        try:
            if found is None and self._query is not None:
                found = self._query.exception()
            self.spark.sparkContext._jsc.sc().isStopped()
        except (Py4JError, OSError, AttributeError):
            self.can_restart = False
            return SparkFailedError(
                "Spark's Java process has ended (was it killed, or out of memory?): start the application again, "
                "it goes on from its last commit"
            )
        if found is None:
            return SparkFailedError("the query ended without saying why")
        if isinstance(found, (Py4JError, PySparkException)):
            logger.debug("what Spark says: %s", found)
            words = says_no_room(str(found))
            if words is not None:
                settings = self.spark.sparkContext.getConf().get
                return spark_disk_full(words, settings, one_host=self._one_host)
            return SparkFailedError(in_a_few_words(str(found)))
        return found

    def stop(self, timeout: float | None) -> bool:
        """Plan no more, wait for the running batch (None: as long as it takes), then stop. True when that went by the
        book.
        """
        query = self._query
        if query is None:
            self._folder.remove()
            return True
        if not self._folder.path.exists():
            return not self._runs()  # stopped before
        try:
            # Kept, because the running batch tells the planner of its commit after this.
            self._tell(stopping=True)
        except (OSError, DiskFullError) as error:
            # A full disk is told already, if it is what ended the query.
            logger.log(
                logging.WARNING if self.error is None else logging.DEBUG,
                "the query is stopped at once, since it cannot be told to come to its end: %s",
                error,
            )
            timeout = 0
        if timeout is not None and self.error is not None:
            timeout = max(
                timeout, ENDING
            )  # it ends by itself, and to interrupt it would only make more noise
        until = math.inf if timeout is None else time.monotonic() + timeout
        while self._runs() and not self._file.stop_acknowledged() and time.monotonic() < until:
            time.sleep(0.01)
        clean = self._file.stop_acknowledged() or not self._runs()
        if self._runs():
            with contextlib.suppress(Py4JError, OSError):  # Spark's own process has ended meanwhile
                query.stop()
        self._publishing.join(PATIENCE)
        self._folder.remove()
        return clean


def worked(report: Report) -> float:
    """Seconds that a task or reader was at work, without those in which it waited for the commit before."""
    return sum(spent for name, spent in report.seconds.items() if name != "wait")


def in_a_few_words(text: str) -> str:
    """What Spark says, without Java's stack: the innermost cause."""
    if "Python worker exited unexpectedly" in text or "Python worker process terminated" in text:
        return (
            "a Python worker died: it was killed, ran out of memory, "
            "or a native library crashed; its last words, if any, are above"
        )
    raised = re.findall(r"^.*Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)$", text, re.MULTILINE)
    if raised:
        return f"in a worker, Python raised {raised[-1]}"
    # Nothing but the planner is asked directly by the query's own thread.
    planner = "the Python process that plans batches died: it was killed, or ran out of memory"
    if "[STREAM_FAILED]" in text and "no cause message" in text:
        return planner
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")
    ]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    found = (causes or lines or ["the query ended without saying why"])[-1 if causes else 0]
    return planner if found.rpartition(": ")[2] in ("Connection reset", "Broken pipe") else found
