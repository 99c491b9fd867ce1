"""What an operator is given when it is compiled for a task."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from headrace.config import StreamsConfig
from headrace.origin import Origin
from headrace.processor import Cancellable, PunctuationType, TaskMetrics
from headrace.record import Headers, RecordMetadata, TaskId
from headrace.serdes.base import Serde

Process: TypeAlias = Callable[[Any, Any, int, Headers], None]
"""An operator, compiled: (key, value, timestamp, headers).

Tables pass a change as value: a plain tuple (new, old, is latest) in the order of `headrace.record.Change`. Making the
named tuple itself for every record would cost a tenth of an aggregate's time.
"""


class Cell(Protocol):
    """One value that survives a restart of the task: a stream time, a due time."""

    value: Any


class Moment(Protocol):
    """The time of the record at hand: what stores without timestamps of their own write to their changelogs.

    An operator with such a store sets it before it touches the store.
    """

    time: int


class Alarm(Protocol):
    """Something that happens when the wall clock says so, and not when a record comes."""

    def due(self) -> int | None:
        """When it wants to be called; None: not as things are."""
        ...

    def ring(self, now: int) -> None:
        """It is due."""
        ...


class Line(Protocol):
    """Where results of calls wait for their turn, and what comes after them waits for it, too."""

    def wait(self, future: Future[Any], settle: Callable[[], None]) -> None:
        """Run `settle` when its turn has come and the future is done: within the batch, in the order of the calls."""
        ...


class TaskContext(Protocol):
    """What a node may ask of the task around it."""

    @property
    def moment(self) -> Moment: ...
    @property
    def application_id(self) -> str: ...
    @property
    def task_id(self) -> TaskId: ...

    @property
    def config(self) -> StreamsConfig: ...
    @property
    def state_dir(self) -> Path: ...
    @property
    def metrics(self) -> TaskMetrics: ...

    def metadata(self) -> RecordMetadata | None:
        """Where the current record came from; None inside a punctuator."""
        ...

    def forward_as(
        self,
        metadata: RecordMetadata | None,
        forward: Process,
        key: Any,
        value: Any,
        timestamp: int,
        headers: Headers,
    ) -> None:
        """Forward a record that was kept for a while: for the nodes behind it comes from where it came from then."""
        ...

    def stream_time(self) -> int:
        """The highest timestamp seen by this task, -1 before the first record."""
        ...

    def wall_clock(self) -> int: ...

    def schedule(
        self,
        node: NodeContext,
        interval: timedelta,
        type: PunctuationType,
        callback: Callable[[int], None],
        start: datetime | int | None = None,
    ) -> Cancellable: ...

    def request_commit(self) -> None: ...

    def at_wall_clock(self, alarm: Alarm) -> None:
        """Ask the alarm again and again when it is due; what it must remember belongs into cells."""
        ...


class NodeContext(Protocol):
    """One node's place in a task. Operators read what they need once, while they are compiled."""

    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> Origin: ...
    @property
    def task(self) -> TaskContext: ...
    @property
    def sends_old_values(self) -> bool:
        """Whether a table's changes must carry the old value, because a child asked for it."""
        ...

    @property
    def forward(self) -> Process:
        """Hands a record to all children; with one child it is that child's own closure."""
        ...

    @property
    def line(self) -> Line:
        """For a node that makes asynchronous calls."""
        ...

    def forward_from(self, store: Any) -> Process:
        """How to send on the changes of a store: `forward`, or nowhere if the store is cached, since a flush of the
        cache then sends them.
        """
        ...

    def child(self, name: str) -> Process: ...

    def store(self, name: str) -> Any:
        """A store that is connected to this node, or a global one."""
        ...

    def global_store(self, name: str) -> Any: ...

    def key_serde(self, given: Serde[Any] | None) -> Serde[Any]:
        """The given serde of a key; None is the configuration's default."""
        ...

    def value_serde(self, given: Serde[Any] | None) -> Serde[Any]:
        """The given serde of a value; None is the configuration's default."""
        ...

    def memory(self, name: str, default: Any, *, of: str | None = None) -> Cell:
        """A cell of this node, or the one that it shares with others under the name `of`."""
        ...

    def failed(self, error: Exception, timestamp: int, headers: Headers) -> None:
        """Hand a callback's exception to the processing handler; returns when the record is to be skipped."""
        ...

    def drop(self, reason: str) -> None:
        """Count a record that the semantics say to ignore."""
        ...

    def at_start(self, action: Callable[[], None]) -> None:
        """Run once, when all nodes are there."""
        ...

    def at_batch(self, action: Callable[[], None]) -> None:
        """Run before each batch. A record that is handed in alone, as in the test driver, is none."""
        ...

    def at_restore(self, action: Callable[[], None]) -> None:
        """Run whenever the task goes back to a snapshot: forget what was worked out from stores or cells."""
        ...

    def at_close(self, action: Callable[[], None]) -> None: ...
