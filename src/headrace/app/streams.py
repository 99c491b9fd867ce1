"""`Streams`: an application that runs on Spark, from its start to its end."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from headrace.app.engine import BatchListener, Engine
from headrace.app.life import Life, StateListener
from headrace.app.opening import check_application
from headrace.app.questions import Questions
from headrace.app.restoring import RestoreEvents, StateRestoreListener
from headrace.app.states import State
from headrace.app.watching import Watcher
from headrace.config import StreamsConfig, config_of
from headrace.errors import IllegalStateError, InvalidDurationError, StartError
from headrace.spark.handed import check_session
from headrace.spark.prints import Prints
from headrace.spark.restores import RestoreEvent
from headrace.spark.session import Session
from headrace.spark.ship import IN_WORKER
from headrace.topology.topology import Topology
from headrace.uncaught import UncaughtExceptionHandler


class Streams(Questions):
    """Runs a topology as one Spark query between topics, exactly once.

    The topology is read from the log where the last commit left it; nothing else has to be kept.

        with Streams(topology, application_id="fraud-detector") as streams:
            streams.wait_until_running()
            streams.store("session-count-store").fetch("userA")

    It runs on the `spark` session that is handed in, else on the Spark that this process has already, else on one of
    its own. A session that it has not started it never stops.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig | None = None,
        *,
        spark: Session | Mapping[str, str] | None = None,
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
        if isinstance(spark, Mapping):  # not a session, but the setting of that name
            settings, spark = {**settings, "spark": spark}, None
        if spark is not None:
            check_session(spark)
        self.topology = topology
        self.config = config_of(settings, config)
        self._take_over = take_over
        self._accept_changes = accept_changes
        self._life = Life()
        self._engine = Engine(topology, self.config, self._life, verbose=verbose, spark=spark)
        self._engine.on_target = self.close
        self._watcher = Watcher(self._engine)
        self._starting = threading.Lock()
        """Held by whoever starts; a close waits for it."""

    # life ----------------------------------------------------------------------------------------------------------

    def set_state_listener(self, listener: StateListener | None) -> None:
        """Call `listener(new, old)` at each change of state, one after the other. To be set before the start."""
        self._refuse_once_started("a state listener")
        self._life.listener = listener

    def set_uncaught_exception_handler(self, handler: UncaughtExceptionHandler) -> None:
        """Ask `handler(error)` what to do when the application fails: one of `StreamThreadExceptionResponse`.

        Without one it shuts down, and its state becomes ERROR. To be set before the start.

            streams.set_uncaught_exception_handler(lambda error: StreamThreadExceptionResponse.REPLACE_THREAD)
        """
        self._refuse_once_started("an uncaught-exception handler")
        self._watcher.handler = handler

    def set_global_state_restore_listener(self, listener: StateRestoreListener) -> None:
        """Tell `listener` when stores are restored from their changelogs. To be set before the start.

        Of a restore that takes less than a tenth of a second it hears after its batch was committed.
        """
        self._refuse_once_started("a restore listener")
        hear = RestoreEvents(listener).hear

        def tell(event: RestoreEvent) -> None:
            with self._life.callback():
                hear(event)

        self._engine.restores.subscribe(tell)

    def on_batch(self, listener: BatchListener) -> None:
        """Call `listener(batch)` after each commit, with counts and times."""
        self._engine.batch_listeners.append(listener)

    def on_print(self, show: Callable[[list[Prints]], None]) -> None:
        """Hand what users' functions print to `show(prints)`, instead of to the standard output: after each commit,
        and before a batch fails.
        """
        self._engine.on_print = show

    def start(self, *, until_caught_up: bool = False) -> Self:
        """Check topics and settings, take the application over, and start the query. Returns when that is done; the
        first commit makes the application RUNNING. One that is closed meanwhile comes to its end instead.

        With `until_caught_up` it processes what is in the topics now, with all that follows from it, in large batches,
        and closes itself: `wait()` returns then.
        """
        if self.state is not State.CREATED:
            raise IllegalStateError(f"an application starts once; this one is {self.state.value}")
        check_application(self.topology, self.config)
        with self._starting, self._life.callback():
            if not self._life.become(State.REBALANCING):
                raise IllegalStateError(f"an application starts once; this one is {self.state.value}")
            try:
                self._engine.start(
                    take_over=self._take_over,
                    accept_changes=self._accept_changes,
                    until_caught_up=until_caught_up,
                )
            except BaseException as error:
                self._engine.fail(error)
                raise
            if self.state.is_running_or_rebalancing:
                self._watcher.start()
        return self

    def close(self, timeout: timedelta | None = None) -> bool:
        """Stop between two commits. True when all has ended; False when that takes longer than `timeout`, and then it
        goes on by itself. Without a timeout it waits as long as the running batch takes; zero does not wait at all.

        Called from a listener, a handler or a signal that came in the middle of `start`, it does not wait either.
        """
        if timeout is not None and timeout < timedelta(0):
            raise InvalidDurationError(f"`timeout` must be zero or more, got {timeout!r}")
        if self._life.become(State.PENDING_SHUTDOWN):
            threading.Thread(target=self._close, name="headrace-close", daemon=True).start()
        patience = None if timeout is None else timeout.total_seconds()
        return self._life.wait_for(lambda: self._life.has_ended, 0 if self._life.in_callback else patience)

    def _close(self) -> None:
        with self._starting:
            self._watcher.end()
            self._engine.end(None)
        self._life.become(State.NOT_RUNNING)

    def clean_up(self) -> None:
        """Remove the local stores of this application from this host; the next start makes them again from their
        changelogs. Only before the start or after the end.
        """
        if not (self.state is State.CREATED or self.state.has_ended):
            raise IllegalStateError(
                f"local stores can be removed while the application does not run; it is {self.state.value}: "
                "call `close()` first"
            )
        with suppress(FileNotFoundError):
            shutil.rmtree(self.config.state_path)

    def pause(self) -> None:
        """Plan no batches after the running one, until `resume`: no record is processed and no punctuator called.
        An application that is paused before it starts does all but process.
        """
        self._engine.pause(True)

    def resume(self) -> None:
        """Go on after `pause`."""
        self._engine.pause(False)

    def _refuse_once_started(self, what: str) -> None:
        if self.state is not State.CREATED:
            raise IllegalStateError(
                f"{what} can only be set before the start; the application is {self.state.value}"
            )

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; raises the error that ended it. False when the time was up."""
        ended = self._life.wait_for(lambda: self._life.has_ended, timeout)
        self._life.raise_error()
        return ended

    def wait_until_running(self, timeout: float = 120) -> None:
        """Wait for the first commit; raises the error that came instead."""
        self._life.wait_for(lambda: self.state is State.RUNNING or self._life.has_ended, timeout)
        self._life.raise_error()
        if self.state.has_ended:
            raise StartError(f"the application has ended, it is {self.state.value}")
        if self.state is not State.RUNNING:
            raise StartError(f"the application is {self.state.value} after {timeout:g} s")

    def wait_until_caught_up(self, timeout: float = 300) -> None:
        """Wait until everything that is in the input topics now has been committed, with all that follows from it."""
        until = time.monotonic() + timeout
        if self.is_paused:
            raise IllegalStateError("the application cannot catch up, it is paused: call `resume()` first")
        self.wait_until_running(timeout)
        engine = self._engine
        ends = engine.ends() or {}

        def done() -> bool:
            return self._life.has_ended or engine.reach.is_at(ends)

        with engine.hurrying():
            caught_up = self._life.wait_for(done, max(0.0, until - time.monotonic()))
        if not caught_up:
            raise StartError(f"the application has not caught up within {timeout:g} s")
        self._life.raise_error()

    def __enter__(self) -> Self:
        return self if self.state is not State.CREATED else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
