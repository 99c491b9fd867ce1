"""The states of an application and the ways between them: Kafka Streams' own."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """Where an application is in its life."""

    CREATED = "created"
    REBALANCING = "rebalancing"
    RUNNING = "running"
    PENDING_SHUTDOWN = "pending shutdown"
    NOT_RUNNING = "not running"
    PENDING_ERROR = "pending error"
    ERROR = "error"

    def can_become(self, other: State) -> bool:
        """Whether Kafka Streams allows this step.

        >>> State.CREATED.can_become(State.RUNNING)
        False
        """
        return other in _NEXT[self]

    @property
    def is_running_or_rebalancing(self) -> bool:
        """Whether it processes records, or is about to."""
        return self in (State.RUNNING, State.REBALANCING)

    @property
    def is_shutting_down(self) -> bool:
        """Whether it is on its way to an end."""
        return self in (State.PENDING_SHUTDOWN, State.PENDING_ERROR)

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it runs any more; there is no way back."""
        return self in (State.NOT_RUNNING, State.ERROR)


_NEXT: dict[State, tuple[State, ...]] = {
    State.CREATED: (State.REBALANCING, State.PENDING_SHUTDOWN),
    State.REBALANCING: (State.RUNNING, State.PENDING_SHUTDOWN, State.PENDING_ERROR),
    State.RUNNING: (State.REBALANCING, State.PENDING_SHUTDOWN, State.PENDING_ERROR),
    State.PENDING_SHUTDOWN: (State.NOT_RUNNING,),
    State.NOT_RUNNING: (),
    State.PENDING_ERROR: (State.ERROR,),
    State.ERROR: (),
}
