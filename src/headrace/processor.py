"""The Processor API: what a user's own processor is and what it may ask of its context."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from headrace.record import Record, RecordMetadata, TaskId

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.serdes import Serde

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


class TaskMetrics(Protocol):
    """Counts that processors keep, by name."""

    def add(self, name: str, amount: int = 1) -> None: ...


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

    @property
    def config(self) -> StreamsConfig:
        """The settings of the application."""
        ...

    @property
    def key_serde(self) -> Serde[Any] | None:
        """How keys are written where nothing else is said."""
        ...

    @property
    def value_serde(self) -> Serde[Any] | None:
        """How values are written where nothing else is said; None when the settings name none."""
        ...

    @property
    def state_dir(self) -> Path:
        """A folder of the task on this host's disk, made when it is asked for. Its files are no part of a commit, and
        stay behind when the task moves.
        """
        ...

    @property
    def metrics(self) -> TaskMetrics:
        """Counts of the processor's own, added up over all tasks: `context.metrics.add("late")`."""
        ...

    def get_state_store(self, name: str) -> Any:
        """A store that is connected to this processor, or a global one (to be read only)."""
        ...

    def schedule(
        self,
        interval: timedelta,
        type: PunctuationType,
        callback: Callable[[int], None],
        *,
        start: datetime | int | None = None,
    ) -> Cancellable:
        """Call `callback(time)` again and again.

        By stream time it fires when a record moves the time of the task past a multiple of the interval, the first
        time with the first record. By the wall clock it fires one interval from now at the earliest. What was
        missed is not made up for. What `init` schedules keeps its due time over a restart. With `start` (milliseconds
        since the epoch, or a datetime with a time zone) it fires at that time and every interval from there; of a
        start in the past, the steps up to now are left out (KIP-1146).
        """
        ...

    def forward(self, record: Record[KOut, VOut], child: str | None = None) -> None:
        """Hand a record to all children, or to the named one."""
        ...

    def commit(self) -> None:
        """Ask for a commit soon."""
        ...

    def current_stream_time_ms(self) -> int:
        """The highest timestamp that this task has seen; -1 before the first record."""
        ...

    def current_system_time_ms(self) -> int:
        """The wall clock: inside a batch it stands still."""
        ...


class Processor(Generic[KIn, VIn, KOut, VOut]):
    """A user's own step. Make one per task: pass the class, or a function that returns a new one.

    What must outlive a restart belongs into a store, not into an attribute.

    >>> from headrace import Processor, StreamsBuilder, key_value_store
    >>> from headrace.testing import TopologyTestDriver
    >>> class Number(Processor[str, str, str, str]):
    ...     def process(self, record):
    ...         seen = self.context.get_state_store("seen")
    ...         count = (seen.get(record.key) or 0) + 1
    ...         seen.put(record.key, count)
    ...         self.context.forward(record.with_value(f"{count}. {record.value}"))
    >>> builder = StreamsBuilder()
    >>> seen = key_value_store("seen", key=str, value=int)
    >>> builder.stream("in", value=str).process(Number, stores=[seen], value=str).to("out")
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.input("in").pipe("a", "apple")
    ...     driver.input("in").pipe("a", "pear")
    ...     driver.output("out").read_values()
    ['1. apple', '2. pear']
    """

    context: ProcessorContext[KOut, VOut]

    @classmethod
    def stores(cls) -> Iterable[Any]:
        """Stores that the processor brings with it (`key_value_store(...)` and the like): none to name again."""
        return ()

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Called once, before the first record; an override must keep the context (or call this)."""
        self.context = context

    def process(self, record: Record[KIn, VIn]) -> None:
        """Called for every record."""
        raise TypeError(f"{type(self).__name__} does not define `process`")

    def close(self) -> None:
        """Called once, at the end."""


class ValueTransformer(Generic[KIn, VIn, VOut]):
    """A user's own step between two tables: it gives each row its new value, with stores to help. One per task.

    Where the new table has no store of its own, `transform` is called again whenever a row is asked for, so its
    result must depend on nothing but the row and the stores.

    >>> from headrace import StreamsBuilder, ValueTransformer
    >>> class Length(ValueTransformer[str, str, int]):
    ...     def transform(self, key: str, value: str | None) -> int | None:
    ...         return None if value is None else len(value)
    >>> StreamsBuilder().table("names", value=str).transform_values(Length, store="lengths")
    <KTable of `KTABLE-TRANSFORMVALUES-0000000003`>
    """

    context: ProcessorContext[Any, Any]

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        """Called once, before the first row; an override must keep the context (or call this)."""
        self.context = context

    def transform(self, key: KIn, value: VIn | None) -> VOut | None:
        """The row's new value; None deletes it. Deleted rows get here too, with the value None."""
        raise TypeError(f"{type(self).__name__} does not define `transform`")

    def close(self) -> None:
        """Called once, at the end."""
