"""`Streams`: an application that runs on Spark, from its start to its end."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from headrace.app.engine import BatchListener, Engine
from headrace.app.life import Life, StateListener
from headrace.app.metrics import Metrics
from headrace.app.opening import check_application
from headrace.app.states import State
from headrace.app.watching import Watcher
from headrace.config import StreamsConfig, config_of
from headrace.errors import StartError, StoreError
from headrace.log.base import TopicPartition
from headrace.spark.explain import Explanation, explain
from headrace.spark.explain.available import topics_that_are_there
from headrace.spark.ship import IN_WORKER
from headrace.topology.topology import Topology


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
        accept_changes: bool = False,
        verbose: bool = False,
        **settings: Any,
    ) -> None:
        if os.environ.get(IN_WORKER):
            raise StartError(
                "a worker imported your file, and it starts an application again: put the start under "
                '`if __name__ == "__main__":`'
            )
        self.topology = topology
        self.config = config_of(settings, config)
        self._take_over = take_over
        self._accept_changes = accept_changes
        self._life = Life()
        self._engine = Engine(topology, self.config, self._life, verbose=verbose)
        self._watcher: Watcher | None = None

    # life ----------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Where the application is in its life."""
        return self._life.state

    @property
    def error(self) -> BaseException | None:
        """What ended the application, if it failed."""
        return self._life.error

    @property
    def metrics(self) -> Metrics:
        """Counts and times since the start."""
        return self._engine.metrics

    def set_state_listener(self, listener: StateListener) -> None:
        """Call `listener(new, old)` at each change of state."""
        self._life.listeners.append(listener)

    def on_batch(self, listener: BatchListener) -> None:
        """Call `listener(batch)` after each commit, with counts and times."""
        self._engine.batch_listeners.append(listener)

    def start(self) -> Self:
        """Check topics and settings, take the application over, and start the query. Returns at once."""
        if self.state is not State.CREATED:
            raise StartError(f"an application starts once; this one is {self.state.value}")
        check_application(self.topology, self.config)
        self._life.become(State.REBALANCING)
        try:
            self._engine.start(take_over=self._take_over, accept_changes=self._accept_changes)
        except BaseException as error:
            self._engine.fail(error)
            raise
        self._watcher = Watcher(self._engine)
        self._watcher.start()
        return self

    def close(self, timeout: timedelta = timedelta(seconds=60)) -> bool:
        """Stop between two batches. True when that succeeded in time."""
        if self.state.has_ended or self.state is State.CREATED:
            self._life.state = State.NOT_RUNNING if self.state is State.CREATED else self.state
            return True
        if self._watcher is not None:
            self._watcher.end(timeout.total_seconds())
        if self.state in (State.RUNNING, State.REBALANCING):
            self._life.become(State.PENDING_SHUTDOWN)
        clean = self._engine.stop(timeout.total_seconds())
        if self.state is State.PENDING_SHUTDOWN:
            self._life.become(State.NOT_RUNNING)
        return clean

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; raises the error that ended it. False when the time was up."""
        ended = self._life.wait_for(lambda: self.state.has_ended, timeout)
        self._life.raise_error()
        return ended

    def wait_until_running(self, timeout: float = 120) -> None:
        """Wait for the first commit; raises the error that came instead."""
        self._life.wait_for(lambda: self.state is State.RUNNING or self.state.has_ended, timeout)
        self._life.raise_error()
        if self.state is not State.RUNNING:
            raise StartError(f"the application is {self.state.value} after {timeout:g} s")

    def wait_until_caught_up(self, timeout: float = 300) -> None:
        """Wait until everything that is in the input topics now has been committed, with all that follows from it."""
        until = time.monotonic() + timeout
        self.wait_until_running(timeout)
        engine, opened = self._engine, self._engine.opened
        assert opened is not None
        layout = opened.layout
        loops = set(map(layout.internal_name, layout.looped))
        topics = {**layout.topics, **layout.global_partitions}
        read = [TopicPartition(t, p) for t, n in topics.items() if t not in loops for p in range(n)]
        ends = opened.log.latest(read)

        def reached(ends: Mapping[TopicPartition, int]) -> bool:
            return all(engine.reached[tp.topic][tp.partition] >= end for tp, end in ends.items())

        def done() -> bool:
            return self.state.has_ended or (reached(ends) and not engine.sent_to_itself)

        if not self._life.wait_for(done, max(0.0, until - time.monotonic())):
            raise StartError(f"the application has not caught up within {timeout:g} s")
        self._life.raise_error()

    def __enter__(self) -> Self:
        return self if self.state is not State.CREATED else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def explain(self) -> Explanation:
        """How the topology runs on Spark: stages, tasks, stores, topics. Before the start with the topics that are
        there by then, and as many partitions as the others would be made with.

        `str()` of the answer is text; it also has `to_svg()` and `to_mermaid()`.
        """
        opened = self._engine.opened
        if opened is None:
            return explain(self.topology, self.config, topics_that_are_there(self.config))
        return explain(self.topology, self.config, opened.available, self._engine.slots)

    # reading state -------------------------------------------------------------------------------------------------

    def store(self, name: str) -> Any:
        """A store, to read from while the application runs: committed state only, all tasks as of one commit."""
        readers = self._engine.readers
        if readers is None or self.state is not State.RUNNING:
            raise StoreError(
                f"store `{name}` can be read while the application runs; it is {self.state.value}: "
                "call `wait_until_running()` first"
            )
        return readers.store(name)
