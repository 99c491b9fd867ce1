"""The state of an application, its changes, and whoever waits for them or listens."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headrace.app.states import State

StateListener = Callable[[State, State], None]

logger = logging.getLogger("headrace")


class Life:
    """One application's state. Changes are told one after the other, in the order in which they happen."""

    def __init__(self) -> None:
        self.state = State.CREATED
        self.error: BaseException | None = None
        """What ended it."""
        self.listener: StateListener | None = None
        self._told = State.CREATED
        """The last state that the listener has heard of."""
        self._changed = threading.Condition()
        self._news: deque[tuple[State, State]] = deque()
        self._telling = False
        self._callbacks = threading.local()

    def become(self, state: State, error: BaseException | None = None) -> bool:
        """Go on to `state`, if Kafka Streams knows a way from here."""
        with self._changed:
            old = self.state
            if not old.can_become(state):
                return False
            self.state = state
            if error is not None:
                self.error = error
            self._news.append((state, old))
            self._changed.notify_all()
        self._tell()
        return True

    def _tell(self) -> None:
        """Outside the lock, so that a listener may ask and wait. Whoever tells already tells this, too."""
        while True:
            with self._changed:
                if self._telling or not self._news:
                    return
                self._telling = True
                new, old = self._news.popleft()
            try:
                if self.listener is not None:
                    with self.callback():
                        self.listener(new, old)
            except Exception:
                logger.exception("the state listener raised; the application is %s all the same", new.value)
            finally:
                with self._changed:
                    self._telling = False
                    self._told = new
                    self._changed.notify_all()

    @contextmanager
    def callback(self) -> Iterator[None]:
        """Around everything that the application waits for: what is called here must not wait for its end."""
        depth = getattr(self._callbacks, "depth", 0)
        self._callbacks.depth = depth + 1
        try:
            yield
        finally:
            self._callbacks.depth = depth

    @property
    def in_callback(self) -> bool:
        """Whether this thread is in a function that the application waits for."""
        return bool(getattr(self._callbacks, "depth", 0))

    @property
    def has_ended(self) -> bool:
        """Whether it is over, and the listener has heard of it."""
        return self.state.has_ended and (self._told is self.state or self.in_callback)

    def tell(self) -> None:
        """Something other than the state has changed: let those who wait look again."""
        with self._changed:
            self._changed.notify_all()

    def wait_for(self, done: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until `done`, looked at after each change; False when the time was up."""
        with self._changed:
            return self._changed.wait_for(done, timeout)

    def raise_error(self) -> None:
        """Raise what ended the application, if it failed."""
        if self.state is State.ERROR and self.error is not None:
            raise self.error
