"""`Streams`: an application that runs on Spark, from its start to its end."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from headrace.app.beginning import base_commit
from headrace.app.metrics import Metrics
from headrace.app.purging import Purger
from headrace.app.reading import StoreReaders
from headrace.app.states import State
from headrace.app.topics import prepare_topics
from headrace.config import StreamsConfig, config_of
from headrace.errors import (
    FencedError,
    HeadraceError,
    OffsetOutOfRangeError,
    ProcessingError,
    StartError,
    StoreError,
)
from headrace.failpoints import failpoint
from headrace.log import open_log
from headrace.log.base import Publisher, TopicLog, TopicPartition
from headrace.resolve import check_naming, check_optimization, check_serdes, check_topic_names
from headrace.spark.java import find_java
from headrace.spark.layout import Layout, lay_out
from headrace.spark.publish import Batch, Committer
from headrace.spark.query import SparkQuery
from headrace.spark.runtime import log_config
from headrace.spark.session import Session, cores, release, session
from headrace.spark.ship import IN_WORKER, Shipment, reference
from headrace.topology.topology import Topology

logger = logging.getLogger("headrace")

StateListener = Callable[[State, State], None]

FINAL = (ProcessingError, FencedError, OffsetOutOfRangeError, StartError)
"""Errors that would only come again."""
RESTARTS = 3
"""How often in a row a query that was lost with a worker is started again without a commit in between."""


class Streams:
    """Runs a topology as one Spark query between topics, exactly once.

    The topology is read from the log where the last commit left it; nothing else has to be kept.

        with Streams(topology, application_id="fraud-detector") as streams:
            streams.wait_until_running()
            streams.store("session-count-store").fetch("userA")
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig | None = None,
        *,
        take_over: bool = False,
        verbose: bool = False,
        **settings: Any,
    ) -> None:
        if os.environ.get(IN_WORKER):
            raise StartError(
                "a worker imported your file, and it starts an application again: put the start under "
                '`if __name__ == "__main__":`'
            )
        config = config_of(settings, config)
        self.topology = topology
        self.config = config
        self.metrics = Metrics()
        self.error: BaseException | None = None
        self._take_over = take_over
        self._verbose = verbose
        self._state = State.CREATED
        self._listeners: list[StateListener] = []
        self._batch_listeners: list[Callable[[Batch], None]] = []
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._log: TopicLog | None = None
        self._publisher: Publisher | None = None
        self._query: SparkQuery | None = None
        self._layout: Layout | None = None
        self._readers: StoreReaders | None = None
        self._monitor: threading.Thread | None = None
        self._spark: Session | None = None
        self._reached: dict[str, list[int]] = {}
        self._purger: Purger | None = None
        self._sent_to_itself = False
        """Whether the last batch has written something that the application itself has to read."""
        """How far each topic has been read, as of the commit that the stores show."""

    # life ----------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Where the application is in its life."""
        return self._state

    def set_state_listener(self, listener: StateListener) -> None:
        """Call `listener(new, old)` at each change of state."""
        self._listeners.append(listener)

    def on_batch(self, listener: Callable[[Batch], None]) -> None:
        """Call `listener(batch)` after each commit, with counts and times."""
        self._batch_listeners.append(listener)

    def start(self) -> Self:
        """Check topics and settings, take the application over, and start the query. Returns at once."""
        if self._state is not State.CREATED:
            raise StartError(f"an application starts once; this one is {self._state.value}")
        specs = (*self.topology.stores.values(), *(node.store for node in self.topology.global_stores))
        check_serdes(self.topology.nodes.values(), specs, self.config)
        check_optimization(self.topology.optimizations, self.config)
        check_naming(self.topology, self.config)
        check_topic_names(self.topology, self.config)
        find_java()
        self._become(State.REBALANCING)
        try:
            self._open()
            self._run_query()
        except BaseException as error:
            self._fail(error)
            raise
        self._monitor = threading.Thread(target=self._watch, name="headrace-monitor", daemon=True)
        self._monitor.start()
        return self

    def close(self, timeout: timedelta = timedelta(seconds=60)) -> bool:
        """Stop between two batches. True when that succeeded in time."""
        if self._state.has_ended or self._state is State.CREATED:
            self._state = State.NOT_RUNNING if self._state is State.CREATED else self._state
            return True
        self._closing.set()
        if self._monitor is not None and self._monitor is not threading.current_thread():
            self._monitor.join(timeout.total_seconds())
        if self._state in (State.RUNNING, State.REBALANCING):
            self._become(State.PENDING_SHUTDOWN)
        clean = self._query.stop(timeout.total_seconds()) if self._query is not None else True
        self._release()
        if self._state is State.PENDING_SHUTDOWN:
            self._become(State.NOT_RUNNING)
        return clean

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; raises the error that ended it. False when the time was up."""
        with self._changed:
            ended = self._changed.wait_for(lambda: self._state.has_ended, timeout)
        if self._state is State.ERROR and self.error is not None:
            raise self.error
        return ended

    def wait_until_running(self, timeout: float = 120) -> None:
        """Wait for the first commit; raises the error that came instead."""
        with self._changed:
            self._changed.wait_for(lambda: self._state is State.RUNNING or self._state.has_ended, timeout)
        if self._state is State.ERROR and self.error is not None:
            raise self.error
        if self._state is not State.RUNNING:
            raise StartError(f"the application is {self._state.value} after {timeout:g} s")

    def wait_until_caught_up(self, timeout: float = 300) -> None:
        """Wait until everything that is in the input topics now has been committed, with all that follows from it."""
        until = time.monotonic() + timeout
        self.wait_until_running(timeout)
        log, layout = self._log, self._layout
        assert log is not None
        assert layout is not None
        loops = set(map(layout.internal_name, layout.looped))
        topics = {**layout.topics, **layout.global_partitions}
        read = [TopicPartition(t, p) for t, n in topics.items() if t not in loops for p in range(n)]
        ends = log.latest(read)

        def reached(ends: Mapping[TopicPartition, int]) -> bool:
            return all(self._reached[tp.topic][tp.partition] >= end for tp, end in ends.items())

        def done() -> bool:
            return self._state.has_ended or (reached(ends) and not self._sent_to_itself)

        with self._changed:
            if not self._changed.wait_for(done, max(0.0, until - time.monotonic())):
                raise StartError(f"the application has not caught up within {timeout:g} s")
        if self._state is State.ERROR and self.error is not None:
            raise self.error

    def __enter__(self) -> Self:
        return self if self._state is not State.CREATED else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # reading state -------------------------------------------------------------------------------------------------

    def store(self, name: str) -> Any:
        """A store, to read from while the application runs: committed state only, all tasks as of one commit."""
        if self._readers is None or self._state is not State.RUNNING:
            raise StoreError(
                f"store `{name}` can be read while the application runs; it is {self._state.value}: "
                "call `wait_until_running()` first"
            )
        return self._readers.store(name)

    # inside --------------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._log = open_log(log_config(self.config))
        available = prepare_topics(self._log, self.topology, self.config)
        self._layout = lay_out(
            self.topology, self.config.application_id, available, self.config.default_timestamp_extractor
        )
        self._available = available
        self._publisher = self._log.publisher(self.config.application_id, take_over=self._take_over)

    def _run_query(self) -> None:
        assert self._layout is not None and self._publisher is not None and self._log is not None
        config = self.config
        base = base_commit(self._log, self.topology, self._layout, self._publisher.last_commit(), self.config)
        if self._spark is None:
            self._spark = session(config.master, config.application_id, config.spark, verbose=self._verbose)
        spark = self._spark
        ref = reference(self.topology)
        if ref is not None and ref.file is not None:
            spark.sparkContext.addPyFile(ref.file)
        slots = min(self._layout.tasks, spark.sparkContext.defaultParallelism) or cores()
        shipment = Shipment(
            uuid.uuid4().hex, base.incarnation, ref or self.topology, config, self._available, slots
        )
        self._readers = StoreReaders(self.topology, self._layout, config)
        committer = Committer(self._publisher, base, self._layout)
        self._purger = Purger(self._log, self._layout)
        self._query = SparkQuery(spark, shipment, committer, self._layout.stages, self._committed)
        self._query.start()

    def _committed(self, batch: Batch) -> None:
        assert self._readers is not None and self._layout is not None
        self._readers.renew()
        self._reached = {**batch.commit.positions, **batch.globals}
        self._sent_to_itself = any(
            position < end
            for topic, positions in batch.commit.positions.items()
            for position, end in zip(positions, batch.commit.ends.get(topic, ()), strict=False)
        )
        self.metrics.add(batch)
        assert self._purger is not None
        self._purger.after(batch.commit)
        if self._state is State.REBALANCING:
            self._become(State.RUNNING)
        for listener in self._batch_listeners:
            try:
                listener(batch)
            except Exception:
                logger.exception("a listener raised; the batch is committed all the same")
        with self._changed:
            self._changed.notify_all()
        failpoint("batch.after")

    def _watch(self) -> None:
        """Notice the end of the query: close, start again, or fail."""
        failures, batches = 0, -1
        while not self._closing.is_set():
            query = self._query
            if query is None or query.alive():
                self._closing.wait(0.05)
                continue
            if self._closing.is_set():
                return
            error = query.failure()
            failures = failures + 1 if self.metrics.commits == batches else 1
            batches = self.metrics.commits
            if isinstance(error, FINAL) or failures > RESTARTS or not query.can_restart:
                self._fail(error)
                return
            logger.warning("the query was lost, starting it again from the last commit: %s", error)
            try:
                self._restart()
            except HeadraceError as again:
                self._fail(again)
                return
            except Exception as again:
                # Spark is still clearing up after what it lost; this counts as a start that failed.
                assert self._query is not None
                self._query.error = again

    def _restart(self) -> None:
        """A worker or the planner was lost: go on from the last commit of the log."""
        if self._state is State.RUNNING:
            self._become(State.REBALANCING)
        assert self._query is not None and self._publisher is not None and self._log is not None
        self._query.stop(0)
        if self._readers is not None:
            self._readers.close()
        self._publisher.close()
        self._publisher = self._log.publisher(self.config.application_id)
        self._run_query()

    def _fail(self, error: BaseException | None) -> None:
        self.error = error if error is not None else HeadraceError("the query ended without an error")
        if self._state in (State.REBALANCING, State.RUNNING):
            self._become(State.PENDING_ERROR)
        if self._query is not None:
            self._query.stop(0)
        self._release()
        if self._state is State.PENDING_ERROR:
            self._become(State.ERROR)

    def _release(self) -> None:
        for part in (self._readers, self._publisher, self._log):
            if part is not None:
                part.close()
        self._readers = self._publisher = self._log = None
        if self._spark is not None:
            release(self._spark)
            self._spark = None

    def _become(self, state: State) -> None:
        with self._changed:
            old = self._state
            if not old.can_become(state):
                return
            self._state = state
            self._changed.notify_all()
        for listener in self._listeners:
            listener(state, old)
