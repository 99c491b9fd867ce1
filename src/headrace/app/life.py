"""The state of an application, its changes, and whoever waits for them or listens."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.app.states import State

StateListener = Callable[[State, State], None]


class Life:
    """One application's state. Changes are told in the order in which they happen, by the thread that makes them."""

    def __init__(self) -> None:
        self.state = State.CREATED
        self.error: BaseException | None = None
        """What ended it."""
        self.listeners: list[StateListener] = []
        self._changed = threading.Condition()

    def become(self, state: State) -> bool:
        """Go on to `state`, if Kafka Streams knows a way from here."""
        with self._changed:
            old = self.state
            if not old.can_become(state):
                return False
            self.state = state
            self._changed.notify_all()
        for listener in self.listeners:
            listener(state, old)
        return True

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
