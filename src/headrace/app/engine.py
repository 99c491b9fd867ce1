"""What runs an application: the log and the session that it holds, one query after another, and how it fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from headrace.app.beginning import base_commit
from headrace.app.life import Life
from headrace.app.metrics import Metrics
from headrace.app.opening import Opened, open_application, ship
from headrace.app.purging import Purger
from headrace.app.reaching import Reach, by_topic, ends_now
from headrace.app.reading import StoreReaders
from headrace.app.replica import Replica
from headrace.app.states import State
from headrace.config import StreamsConfig
from headrace.failpoints import failpoint
from headrace.log.base import TopicPartition
from headrace.restore.monitor import RestoreMonitor
from headrace.restore.standby_process import StandbyProcesses
from headrace.spark.commit import CommitRecord
from headrace.spark.handed import warn_of_small_results
from headrace.spark.hosts import is_one_host
from headrace.spark.prints import Prints, show
from headrace.spark.publish import Batch, Committer
from headrace.spark.query import SparkQuery
from headrace.spark.session import Session, driver_host, master_of, release, session
from headrace.spark.ship import Shipment
from headrace.topology.topology import Topology

logger = logging.getLogger("headrace")

BatchListener = Callable[[Batch], None]


class Engine:
    """One application while it runs. Started and ended by `Streams`, begun again by the watcher."""

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        life: Life,
        *,
        verbose: bool,
        spark: Session | None = None,
    ) -> None:
        self.topology = topology
        self.config = config
        self.life = life
        self.metrics = Metrics(config.application_id, lambda: life.state.name)
        self.restores = RestoreMonitor()
        self.batch_listeners: list[BatchListener] = []
        self.on_print: Callable[[list[Prints]], None] = show
        self.opened: Opened | None = None
        self.query: SparkQuery | None = None
        self.readers: StoreReaders | Replica | None = None
        self.slots: int | None = None
        """How many Spark tasks a stage has."""
        self.reach = Reach()
        self.target: dict[TopicPartition, int] | None = None
        """Where it is to end by itself."""
        self.on_target: Callable[[], object] = lambda: None
        self.paused = False
        self._hurried = 0
        self._hurry_lock = threading.Lock()
        self._log_lock = threading.Lock()
        """Held by whoever asks the log from outside, and by whoever closes it."""
        self._verbose = verbose
        self._given = spark
        self._spark: Session | None = None
        self._purger: Purger | None = None
        self._shipment: Shipment | None = None
        self._standbys: StandbyProcesses | None = None

    def start(self, *, take_over: bool, accept_changes: bool, until_caught_up: bool = False) -> None:
        """Open what is needed, and start the first query. Gives up quietly when it is closed meanwhile."""
        self.opened = open_application(
            self.topology, self.config, take_over=take_over, accept_changes=accept_changes
        )
        if until_caught_up:
            self.target = ends_now(self.opened)
        self._run_query()
        if self.config.num_standby_replicas and self._shipment is not None:
            self._standbys = StandbyProcesses(self._shipment.pack(), self.config.num_standby_replicas)
            self._standbys.start()

    def restart(self) -> None:
        """Go on from the last commit of the log with a new query."""
        self.rebalance()
        assert self.opened is not None
        if self.query is not None:
            self.query.stop(0)
        self.restores.interrupted()
        if self.readers is not None:
            self.readers.close()
        self.opened.publisher.close()
        self.opened.publisher = self.opened.log.publisher(self.config.application_id)
        self._run_query()

    def rebalance(self) -> None:
        """There is no query that works."""
        if self.life.state is State.RUNNING:
            self.life.become(State.REBALANCING)

    def pause(self, paused: bool) -> None:
        """Plan no more batches after the running one, or go on."""
        self.paused = paused
        if self.query is not None:
            self.query.pause(paused)

    @contextmanager
    def hurrying(self) -> Iterator[None]:
        """While somebody waits for the end of what is there, the commit interval does not count."""
        with self._hurry_lock:
            self._hurried += 1
        self._tell_hurry()
        try:
            yield
        finally:
            with self._hurry_lock:
                self._hurried -= 1
            self._tell_hurry()

    def _tell_hurry(self) -> None:
        if self.query is not None and self.config.commit_interval:
            self.query.hurry(self._hurried > 0)

    def ends(self) -> dict[TopicPartition, int] | None:
        """Where the topics end now; None when the log is closed."""
        with self._log_lock:
            return None if self.opened is None else ends_now(self.opened)

    def fail(self, error: BaseException) -> None:
        """It cannot go on, and says why."""
        if not self.life.become(State.PENDING_ERROR, error):
            logger.warning("the application failed while it was closed: %s", error)
            return  # whoever closes it also clears up
        self.metrics.failed = 1
        self.end(0)
        self.life.become(State.ERROR)

    def end(self, timeout: float | None) -> None:
        """Stop for good. What cannot be given back is told, and nothing else: somebody waits for the end."""
        try:
            self.stop(timeout)
        except Exception:
            logger.exception("the application has ended, but not all that it held could be given back")

    def shut_down_application(self, error: BaseException) -> None:
        """Tell every other process of this application, through the log, that it is to end."""
        if self.query is None:
            return
        try:
            self.query.committer.shut_down(str(error))
        except Exception:
            logger.exception("the other processes of the application could not be told to shut down")

    def stop(self, timeout: float | None) -> bool:
        """Stop the query between two batches, and give back what is held. True when that went by the book."""
        # In this order, and each of them whatever happens to those before it.
        steps = (
            self._stop_telling,
            self._end_standbys,
            self._close_readers,
            self._close_log,
            self._leave_spark,
        )
        with ExitStack() as stack:
            for step in reversed(steps):
                stack.callback(step)
            return self.query.stop(timeout) if self.query is not None else True

    def _stop_telling(self) -> None:
        self.restores.interrupted()
        self.restores.close()

    def _end_standbys(self) -> None:
        standbys, self._standbys = self._standbys, None
        if standbys is not None:
            standbys.close()

    def _close_readers(self) -> None:
        readers, self.readers = self.readers, None
        if readers is not None:
            readers.close()

    def _close_log(self) -> None:
        with self._log_lock:
            opened, self.opened = self.opened, None
            if opened is not None:
                opened.close()

    def _leave_spark(self) -> None:
        spark, self._spark = self._spark, None
        if spark is not None:
            release(spark, worked=self.metrics.commits > 0)

    def _run_query(self) -> None:
        opened, config = self.opened, self.config
        assert opened is not None
        last = opened.publisher.last_commit()
        base = base_commit(
            opened.log, self.topology, opened.layout, last, config, accept_changes=opened.accept_changes
        )
        self.reach.begin(base.positions)
        if self._closing():
            return
        if self._spark is None:
            self._spark = session(
                config.master,
                config.application_id,
                config.spark,
                verbose=self._verbose,
                given=self._given,
            )
            warn_of_small_results(self._spark, config.max_batch_bytes)
        channel = self.restores.open(driver_host(self._spark))
        shipment = self._shipment = ship(self.topology, config, opened, base, self._spark, channel)
        self.slots = shipment.slots
        self.readers = self._new_readers(opened, shipment, base)
        self._purger = Purger(opened.log, opened.layout)
        committer = Committer(opened.publisher, base, opened.layout, opened.kept, self._show)
        if self._closing():
            return
        self.query = SparkQuery(
            self._spark,
            shipment,
            committer,
            opened.layout.stages,
            self._committed,
            paused=self.paused,
            until=None if self.target is None else by_topic(self.target),
        )
        self.query.start()
        self._tell_hurry()

    def _closing(self) -> bool:
        return not self.life.state.is_running_or_rebalancing

    def _new_readers(self, opened: Opened, shipment: Shipment, base: CommitRecord) -> StoreReaders | Replica:
        assert self._spark is not None
        if is_one_host(master_of(self._spark)):
            return StoreReaders(self.topology, opened.layout, self.config)
        return Replica(self.topology, self.config, shipment, base)

    def _show(self, prints: list[Prints]) -> None:
        with self.life.callback():
            self.on_print(prints)

    def _committed(self, batch: Batch) -> None:
        """A batch is in the log. Called by the query, before the next one may change any store."""
        with self.life.callback():
            self._after(batch)
        self.life.tell()
        failpoint("batch.after")

    def _after(self, batch: Batch) -> None:
        assert self.readers is not None and self._purger is not None
        self.readers.committed(batch.commit, batch.globals)
        self.reach.committed(batch)
        self.metrics.add(batch)
        self.restores.committed(batch.reports)
        self._purger.after(batch.commit)
        if self.life.state is State.REBALANCING:
            self.life.become(State.RUNNING)
        for listener in self.batch_listeners:
            try:
                listener(batch)
            except Exception:
                logger.exception("a listener raised; the batch is committed all the same")
        if self.target is not None and self.reach.is_at(self.target):
            self.on_target()
