"""What runs an application: the log and the session that it holds, one query after another, and how it fails."""

from __future__ import annotations

import logging
from collections.abc import Callable

from headrace.app.beginning import base_commit
from headrace.app.life import Life
from headrace.app.metrics import Metrics
from headrace.app.opening import Opened, open_application, ship
from headrace.app.purging import Purger
from headrace.app.reading import StoreReaders
from headrace.app.states import State
from headrace.config import StreamsConfig
from headrace.errors import HeadraceError
from headrace.failpoints import failpoint
from headrace.restore.monitor import RestoreMonitor
from headrace.restore.standby_process import StandbyProcesses
from headrace.spark.publish import Batch, Committer
from headrace.spark.query import SparkQuery
from headrace.spark.session import Session, driver_host, release, session
from headrace.spark.ship import Shipment
from headrace.topology.topology import Topology

logger = logging.getLogger("headrace")

BatchListener = Callable[[Batch], None]


class Engine:
    """One application while it runs. Started and ended by `Streams`, begun again by the watcher."""

    def __init__(self, topology: Topology, config: StreamsConfig, life: Life, *, verbose: bool) -> None:
        self.topology = topology
        self.config = config
        self.life = life
        self.metrics = Metrics()
        self.restores = RestoreMonitor()
        self.batch_listeners: list[BatchListener] = []
        self.opened: Opened | None = None
        self.query: SparkQuery | None = None
        self.readers: StoreReaders | None = None
        self.reached: dict[str, list[int]] = {}
        """How far each topic has been read, as of the commit that the stores show."""
        self.slots: int | None = None
        """How many Spark tasks a stage has."""
        self.sent_to_itself = False
        """Whether the last batch has written something that the application itself has to read."""
        self._verbose = verbose
        self._spark: Session | None = None
        self._purger: Purger | None = None
        self._shipment: Shipment | None = None
        self._standbys: StandbyProcesses | None = None

    def start(self, *, take_over: bool, accept_changes: bool) -> None:
        """Open what is needed, and start the first query."""
        self.opened = open_application(
            self.topology, self.config, take_over=take_over, accept_changes=accept_changes
        )
        self._run_query()
        if self.config.num_standby_replicas and self._shipment is not None:
            self._standbys = StandbyProcesses(self._shipment.pack(), self.config.num_standby_replicas)
            self._standbys.start()

    def restart(self) -> None:
        """A worker or the planner was lost: go on from the last commit of the log."""
        if self.life.state is State.RUNNING:
            self.life.become(State.REBALANCING)
        assert self.query is not None and self.opened is not None
        self.query.stop(0)
        self.restores.interrupted()
        if self.readers is not None:
            self.readers.close()
        self.opened.publisher.close()
        self.opened.publisher = self.opened.log.publisher(self.config.application_id)
        self._run_query()

    def fail(self, error: BaseException | None) -> None:
        """It cannot go on, and says why."""
        life = self.life
        life.error = error if error is not None else HeadraceError("the query ended without an error")
        if life.state in (State.REBALANCING, State.RUNNING):
            life.become(State.PENDING_ERROR)
        self.stop(0)
        if life.state is State.PENDING_ERROR:
            life.become(State.ERROR)

    def stop(self, timeout: float) -> bool:
        """Stop the query between two batches, and give back what is held. True when that went by the book."""
        clean = self.query.stop(timeout) if self.query is not None else True
        self.restores.interrupted()
        self.restores.close()
        if self._standbys is not None:
            self._standbys.close()
            self._standbys = None
        for part in (self.readers, self.opened):
            if part is not None:
                part.close()
        self.readers = self.opened = None
        if self._spark is not None:
            release(self._spark)
            self._spark = None
        return clean

    def _run_query(self) -> None:
        opened, config = self.opened, self.config
        assert opened is not None
        base = base_commit(opened.log, self.topology, opened.layout, opened.publisher.last_commit(), config)
        if self._spark is None:
            self._spark = session(config.master, config.application_id, config.spark, verbose=self._verbose)
        channel = self.restores.open(driver_host(self._spark))
        shipment = self._shipment = ship(self.topology, config, opened, base, self._spark, channel)
        self.slots = shipment.slots
        self.readers = StoreReaders(self.topology, opened.layout, config)
        self._purger = Purger(opened.log, opened.layout)
        committer = Committer(opened.publisher, base, opened.layout, opened.kept)
        self.query = SparkQuery(self._spark, shipment, committer, opened.layout.stages, self._committed)
        self.query.start()

    def _committed(self, batch: Batch) -> None:
        """A batch is in the log. Called by the query, before it may plan the next one."""
        assert self.readers is not None and self._purger is not None
        self.readers.renew()
        self.reached = {**batch.commit.positions, **batch.globals}
        self.sent_to_itself = any(
            position < end
            for topic, positions in batch.commit.positions.items()
            for position, end in zip(positions, batch.commit.ends.get(topic, ()), strict=False)
        )
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
        self.life.tell()
        failpoint("batch.after")
