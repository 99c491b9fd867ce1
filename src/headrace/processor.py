"""The Processor API: what a user's own processor is and what it may ask of its context."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from headrace.record import Record, RecordMetadata, TaskId

KIn = TypeVar("KIn")
VIn = TypeVar("VIn")
KOut = TypeVar("KOut")
VOut = TypeVar("VOut")


class PunctuationType(Enum):
    """What drives a punctuator: the records' time, or the clock on the wall."""

    STREAM_TIME = "stream time"
    WALL_CLOCK_TIME = "wall clock time"


class Cancellable(Protocol):
    """What `schedule` returns."""

    def cancel(self) -> None: ...


class ProcessorContext(Protocol[KOut, VOut]):
    """What a processor may ask of the task that runs it."""

    @property
    def application_id(self) -> str: ...
    @property
    def task_id(self) -> TaskId: ...
    @property
    def record_metadata(self) -> RecordMetadata | None:
        """Where the current record came from; None inside a punctuator."""
        ...

    def get_state_store(self, name: str) -> Any: ...

    def schedule(
        self, interval: timedelta, type: PunctuationType, callback: Callable[[int], None]
    ) -> Cancellable: ...

    def forward(self, record: Record[KOut, VOut], child: str | None = None) -> None:
        """Hand a record to all children, or to the named one."""
        ...

    def commit(self) -> None:
        """Ask for a commit soon."""
        ...

    def current_stream_time_ms(self) -> int: ...
    def current_system_time_ms(self) -> int: ...


class Processor(Generic[KIn, VIn, KOut, VOut]):
    """A user's own step. Make one per task: pass the class, or a function that returns a new one."""

    context: ProcessorContext[KOut, VOut]

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Called once, before the first record; an override must keep the context (or call this)."""
        self.context = context

    def process(self, record: Record[KIn, VIn]) -> None:
        """Called for every record."""
        raise TypeError(f"{type(self).__name__} does not define `process`")

    def close(self) -> None:
        """Called once, at the end."""
