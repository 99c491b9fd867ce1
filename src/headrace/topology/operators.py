"""What a processor node does, as data. The meaning of each is in `headrace.processors`, in a file of the same family.

Callbacks take (key, value); those of `*_values` and joiners take values only unless `with_key` is set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.topology.views import TableView
from headrace.windows import EmitStrategy, JoinWindows, SessionWindows, SlidingWindows, TimeWindows


@dataclass(frozen=True, slots=True)
class Operator:
    """The base of all operators."""


# stateless ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PassThrough(Operator):
    """Forwards what it gets: merge, and the branches of a split."""


@dataclass(frozen=True, slots=True)
class Filter(Operator):
    predicate: Callable[[Any, Any], Any]
    negate: bool = False


@dataclass(frozen=True, slots=True)
class DropNullKeys(Operator):
    """In front of a repartition: a record without a key has no partition."""


@dataclass(frozen=True, slots=True)
class Map(Operator):
    mapper: Callable[[Any, Any], tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class MapValues(Operator):
    mapper: Callable[..., Any]
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class MapValuesAsync(Operator):
    """`mapper` returns an awaitable; so many calls may be under way at once, each for so long (None: for ever)."""

    mapper: Callable[..., Any]
    concurrency: int
    timeout_ms: int | None
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class FlatMap(Operator):
    mapper: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class FlatMapValues(Operator):
    mapper: Callable[..., Any]
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class SelectKey(Operator):
    mapper: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Peek(Operator):
    """Calls `action`; forwards the record unless it is the end of the line (`foreach`)."""

    action: Callable[[Any, Any], Any]
    forward: bool = True


@dataclass(frozen=True, slots=True)
class Branch(Operator):
    """Forwards to the first child whose predicate holds, else to `default` if there is one."""

    predicates: tuple[Callable[[Any, Any], Any], ...]
    children: tuple[str, ...]
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Deduplicate(Operator):
    """Drops a record when one with the same identity, not more than `within_ms` apart, has passed before.

    The identity is the key, or what `identity(key, value)` returns, under the key alone if `per_key`. `store` knows
    what has passed.
    """

    store: str
    within_ms: int
    identity: Callable[[Any, Any], Any] | None = None
    per_key: bool = False


# tables and aggregates ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableSource(Operator):
    """Turns records into table changes; keeps them in `store` when a child needs that."""

    store: str | None


@dataclass(frozen=True, slots=True)
class TableToStream(Operator):
    """Changes become records of the new value."""


@dataclass(frozen=True, slots=True)
class TableFilter(Operator):
    """A row that the predicate refuses is a deleted one; kept in `store` when the user wants that."""

    predicate: Callable[[Any, Any], Any]
    negate: bool = False
    store: str | None = None
    versioned: bool = False
    """The rows come from a versioned table: a deletion out of order has to be told, whatever was there before."""


@dataclass(frozen=True, slots=True)
class TableMapValues(Operator):
    mapper: Callable[..., Any]
    with_key: bool = False
    store: str | None = None


@dataclass(frozen=True, slots=True)
class TableTransformValues(Operator):
    """`supplier()` makes a `headrace.processor.ValueTransformer`, one per task."""

    supplier: Callable[[], Any]
    store: str | None = None


@dataclass(frozen=True, slots=True)
class TableGroupBy(Operator):
    """`mapper(key, value)` gives each row its group and the value to be aggregated there."""

    mapper: Callable[[Any, Any], tuple[Any, Any]]
    versioned: bool = False
    """The rows come from a versioned table: a change out of order is in no group."""


@dataclass(frozen=True, slots=True)
class TableReduce(Operator):
    store: str
    adder: Callable[[Any, Any], Any]
    subtractor: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class TableAggregate(Operator):
    """`adder(key, value, aggregate)` for a row that is new in its group, `subtractor` for one that was there."""

    store: str
    initializer: Callable[[], Any]
    adder: Callable[[Any, Any, Any], Any]
    subtractor: Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, slots=True)
class StreamReduce(Operator):
    store: str
    reducer: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class StreamAggregate(Operator):
    """`aggregator(key, value, aggregate)`."""

    store: str
    initializer: Callable[[], Any]
    aggregator: Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, slots=True)
class WindowedAggregate(Operator):
    """Aggregate per key and time window. With `initializer` None it is a reduce: the first value is the aggregate."""

    store: str
    windows: TimeWindows
    initializer: Callable[[], Any] | None
    aggregator: Callable[[Any, Any, Any], Any]
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE


@dataclass(frozen=True, slots=True)
class SlidingAggregate(Operator):
    """Aggregate per key and sliding window. Reduce as in WindowedAggregate."""

    store: str
    windows: SlidingWindows
    initializer: Callable[[], Any] | None
    aggregator: Callable[[Any, Any, Any], Any]
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE


@dataclass(frozen=True, slots=True)
class SessionAggregate(Operator):
    """Aggregate per key and session; `merger(key, left, right)` joins two sessions. Reduce as in WindowedAggregate."""

    store: str
    windows: SessionWindows
    initializer: Callable[[], Any] | None
    aggregator: Callable[[Any, Any, Any], Any]
    merger: Callable[[Any, Any, Any], Any]
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE


@dataclass(frozen=True, slots=True)
class Suppress(Operator):
    """Holds updates back in `store`: until `wait_ms` after the first of a key, or with `until_close` after the end of
    its window. None for a limit: there is none. `emits_early` says what a full buffer does.
    """

    store: str
    wait_ms: int
    until_close: bool
    max_records: int | None
    max_bytes: int | None
    emits_early: bool
    idle_ms: int | None = None
    """How long nothing comes before the wall clock ends the waiting; None: only records do."""


# joins -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StreamTableJoin(Operator):
    """With `buffer`, records wait there for `grace_ms` of the stream's time before they are joined."""

    table: TableView
    joiner: Callable[..., Any]
    left: bool
    with_key: bool = False
    buffer: str | None = None
    grace_ms: int = 0


@dataclass(frozen=True, slots=True)
class StreamGlobalTableJoin(Operator):
    """`mapper(key, value)` chooses the table's key. `with_key` adds the stream's key to the joiner."""

    store: str
    mapper: Callable[[Any, Any], Any]
    joiner: Callable[..., Any]
    left: bool
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class JoinBuffer(Operator):
    """Keeps a stream's records for the other side of a join, after they have been forwarded."""

    store: str


@dataclass(frozen=True, slots=True)
class StreamStreamJoin(Operator):
    """One side of a join of two streams; `joiner` takes the left value first on both sides.

    `store` has the other side's records. `shared` (left and outer joins) has the records of both sides that have met
    nobody yet; the side with `outer` set puts its own there. Both sides have one time, kept under the name `clock`.
    """

    store: str
    windows: JoinWindows
    joiner: Callable[..., Any]
    is_left: bool
    outer: bool
    shared: str | None
    clock: str
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class StreamSelfJoin(Operator):
    """A join of a stream with itself, over one store: each record meets those before it on both sides, and itself."""

    store: str
    windows: JoinWindows
    joiner: Callable[..., Any]
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class TableTableJoin(Operator):
    """One side of a join of two tables: its changes meet the rows of the other.

    `keeps_this`: a row has a result without one on the other side; `keeps_other`: the same, seen from there.
    `reverse`: this is the right side, so the joiner's values change places.
    """

    other: TableView
    joiner: Callable[..., Any]
    keeps_this: bool
    keeps_other: bool
    reverse: bool = False
    with_key: bool = False
    versioned: bool = False
    """This side is a versioned table: a change out of order has no result."""


@dataclass(frozen=True, slots=True)
class TableJoinMerge(Operator):
    """The results of both sides are one table, kept in `store` when the user wants that."""

    store: str | None = None


# Processor API -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Process(Operator):
    """A user's processor: `supplier()` makes a `headrace.processor.Processor`, one per task."""

    supplier: Callable[[], Any]
    fixed_key: bool = False


@dataclass(frozen=True, slots=True)
class GlobalTableUpdate(Operator):
    """Puts records of a global table's topic into its store."""

    store: str
