"""A grouped stream in windows: aggregations per key and window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from headrace.dsl.aggregation import (
    Grouping,
    ReduceSessions,
    ReduceValue,
    aggregate_form,
    count_store,
    plus,
    plus_one,
    zero,
)
from headrace.dsl.forms import As, form
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import Store, StoreChoice, choose_store
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.record import Windowed
from headrace.serdes import Serde, SessionWindowedSerde, TimeWindowedSerde
from headrace.topology.callbacks import check_callable
from headrace.topology.operators import SessionAggregate, SlidingAggregate, WindowedAggregate
from headrace.windows import EmitStrategy, SessionWindows, SlidingWindows, TimeWindows

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class TimeWindowedKStream(Generic[K, V]):
    """A stream grouped by key and time window. Made by `KGroupedStream.windowed_by`."""

    def __init__(
        self,
        grouping: Grouping,
        windows: TimeWindows | SlidingWindows,
        emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE,
    ) -> None:
        self._grouping = grouping
        self._windows = windows
        self._emit = emit

    def emit_strategy(self, strategy: EmitStrategy) -> TimeWindowedKStream[K, V]:
        """Say when results are sent on: with every update (the default), or once, when the window is closed.

        >>> from datetime import timedelta
        >>> from headrace import EmitStrategy, StreamsBuilder, TimeWindows
        >>> clicks = StreamsBuilder().stream("clicks", value=str).group_by_key()
        >>> minutes = clicks.windowed_by(TimeWindows(timedelta(minutes=1), grace=timedelta(seconds=5)))
        >>> minutes.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count()
        <KTable of `KSTREAM-AGGREGATE-0000000002`>
        """
        return TimeWindowedKStream(self._grouping, self._windows, check_strategy(strategy))

    def count(
        self, *, store: Store[K, int] | None = None, name: str | None = None
    ) -> KTable[Windowed[K], int]:
        """Count the records of each key and window.

        >>> from datetime import timedelta
        >>> from headrace import StreamsBuilder, TimeWindows
        >>> minutes = TimeWindows(timedelta(minutes=1), grace=timedelta(seconds=5))
        >>> StreamsBuilder().stream("clicks", value=str).group_by_key().windowed_by(minutes).count(
        ...     store="per-minute"
        ... )
        <KTable of `KSTREAM-AGGREGATE-0000000001`>
        """
        blueprint = self._grouping.blueprint
        sliding = isinstance(self._windows, SlidingWindows)
        chosen = count_store(store, blueprint.namer, self._grouping.key, sliding=sliding)
        name = blueprint.name("KSTREAM-AGGREGATE-", name)
        return self._table(name, chosen, zero, plus_one)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        value: As[V] | None = None,
        store: Store[K, V] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], V]:
        """Combine the values of each key and window: `reducer(so_far, value)`.

        >>> from datetime import timedelta
        >>> from headrace import StreamsBuilder, TimeWindows
        >>> bids = StreamsBuilder().stream("bids", value=int).group_by_key()
        >>> bids.windowed_by(TimeWindows(timedelta(minutes=1))).reduce(max)
        <KTable of `KSTREAM-REDUCE-0000000002`>
        """
        check_callable(reducer, "reduce", "(so far, value)")
        blueprint, grouping = self._grouping.blueprint, self._grouping
        chosen = choose_store(
            store, blueprint.namer, "KSTREAM-REDUCE-", key=grouping.key, value=form(value, grouping.value)
        )
        name = blueprint.name("KSTREAM-REDUCE-", name)
        return self._table(name, chosen, None, ReduceValue(reducer))

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        *,
        value: As[A] | None = None,
        store: Store[K, A] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """Build up a result for each key and window, from `initializer()` by `aggregator(key, value, so_far)`.

        >>> from datetime import timedelta
        >>> from headrace import StreamsBuilder, TimeWindows
        >>> orders = StreamsBuilder().stream("orders", value=float).group_by_key()
        >>> hours = orders.windowed_by(TimeWindows(timedelta(hours=1)))
        >>> hours.aggregate(float, lambda user, amount, total: total + amount)
        <KTable of `KSTREAM-AGGREGATE-0000000002`>
        """
        check_callable(initializer, "aggregate", "()")
        check_callable(aggregator, "aggregate", "(key, value, so far)")
        blueprint = self._grouping.blueprint
        form_ = aggregate_form(value, initializer, aggregator)
        chosen = choose_store(
            store, blueprint.namer, "KSTREAM-AGGREGATE-", key=self._grouping.key, value=form_
        )
        name = blueprint.name("KSTREAM-AGGREGATE-", name)
        return self._table(name, chosen, initializer, aggregator)

    def _table(
        self,
        name: str,
        chosen: StoreChoice,
        initializer: Callable[[], Any] | None,
        aggregator: Callable[[Any, Any, Any], Any],
    ) -> KTable[Windowed[K], Any]:
        size_ms = self._windows.size_ms
        operator: SlidingAggregate | WindowedAggregate
        if isinstance(self._windows, SlidingWindows):
            operator = SlidingAggregate(chosen.name, self._windows, initializer, aggregator, self._emit)
        else:
            operator = WindowedAggregate(chosen.name, self._windows, initializer, aggregator, self._emit)
        cached = isinstance(self._windows, TimeWindows) or not self._emit.final
        spec = chosen.spec(
            "timestamped_window",
            least_retention_ms=self._windows.retention_ms,
            window_size_ms=size_ms,
            cached=cached,
        )
        if self._emit.final and spec.persistent:
            # Kafka Streams keeps what is still to be emitted one millisecond longer: without that a window that
            # has no grace would be gone when the next one begins.
            spec = replace(spec, retention_ms=spec.retention_ms + 1)

        def windowed(inner: Serde[Any] | None) -> Serde[Any]:
            return TimeWindowedSerde(inner, size_ms)

        return self._grouping.table(name, operator, chosen, spec, windowed)


class SessionWindowedKStream(Generic[K, V]):
    """A stream grouped by key and session. Made by `KGroupedStream.windowed_by`."""

    def __init__(
        self,
        grouping: Grouping,
        windows: SessionWindows,
        emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE,
    ) -> None:
        self._grouping = grouping
        self._windows = windows
        self._emit = emit

    def emit_strategy(self, strategy: EmitStrategy) -> SessionWindowedKStream[K, V]:
        """Say when results are sent on: with every update (the default), or once, when the session is over.

        >>> from datetime import timedelta
        >>> from headrace import EmitStrategy, SessionWindows, StreamsBuilder
        >>> clicks = StreamsBuilder().stream("clicks", value=str).group_by_key()
        >>> visits = clicks.windowed_by(SessionWindows(gap=timedelta(minutes=5)))
        >>> visits.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count()
        <KTable of `KSTREAM-AGGREGATE-0000000002`>
        """
        return SessionWindowedKStream(self._grouping, self._windows, check_strategy(strategy))

    def count(
        self, *, store: Store[K, int] | None = None, name: str | None = None
    ) -> KTable[Windowed[K], int]:
        """Count the records of each key and session.

        >>> from datetime import timedelta
        >>> from headrace import SessionWindows, StreamsBuilder
        >>> clicks = StreamsBuilder().stream("clicks", value=str).group_by_key()
        >>> clicks.windowed_by(SessionWindows(gap=timedelta(minutes=5))).count(store="visits")
        <KTable of `KSTREAM-AGGREGATE-0000000001`>
        """
        blueprint = self._grouping.blueprint
        chosen = count_store(store, blueprint.namer, self._grouping.key)
        name = blueprint.name("KSTREAM-AGGREGATE-", name)
        return self._table(name, chosen, zero, plus_one, plus)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        value: As[V] | None = None,
        store: Store[K, V] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], V]:
        """Combine the values of each key and session: `reducer(so_far, value)`; it also joins two sessions.

        >>> from datetime import timedelta
        >>> from headrace import SessionWindows, StreamsBuilder
        >>> bids = StreamsBuilder().stream("bids", value=int).group_by_key()
        >>> bids.windowed_by(SessionWindows(gap=timedelta(minutes=5))).reduce(max)
        <KTable of `KSTREAM-REDUCE-0000000002`>
        """
        check_callable(reducer, "reduce", "(so far, value)")
        blueprint, grouping = self._grouping.blueprint, self._grouping
        chosen = choose_store(
            store, blueprint.namer, "KSTREAM-REDUCE-", key=grouping.key, value=form(value, grouping.value)
        )
        name = blueprint.name("KSTREAM-REDUCE-", name)
        return self._table(name, chosen, None, ReduceValue(reducer), ReduceSessions(reducer))

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        # `object` and not A: where two lambdas would have to agree on A, mypy gives up and infers Any.
        merger: Callable[[K, A, A], object],
        *,
        value: As[A] | None = None,
        store: Store[K, A] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """Build up a result for each key and session; `merger(key, left, right)` joins two sessions.

        >>> from datetime import timedelta
        >>> from headrace import SessionWindows, StreamsBuilder
        >>> orders = StreamsBuilder().stream("orders", value=float).group_by_key()
        >>> visits = orders.windowed_by(SessionWindows(gap=timedelta(minutes=5)))
        >>> visits.aggregate(float, lambda user, n, total: total + n, lambda user, left, right: left + right)
        <KTable of `KSTREAM-AGGREGATE-0000000002`>
        """
        check_callable(initializer, "aggregate", "()")
        check_callable(aggregator, "aggregate", "(key, value, so far)")
        check_callable(merger, "aggregate", "(key, left, right)")
        blueprint = self._grouping.blueprint
        form_ = aggregate_form(value, initializer, aggregator)
        chosen = choose_store(
            store, blueprint.namer, "KSTREAM-AGGREGATE-", key=self._grouping.key, value=form_
        )
        name = blueprint.name("KSTREAM-AGGREGATE-", name)
        return self._table(name, chosen, initializer, aggregator, merger)

    def _table(
        self,
        name: str,
        chosen: StoreChoice,
        initializer: Callable[[], Any] | None,
        aggregator: Callable[[Any, Any, Any], Any],
        merger: Callable[[Any, Any, Any], Any],
    ) -> KTable[Windowed[K], Any]:
        operator = SessionAggregate(chosen.name, self._windows, initializer, aggregator, merger, self._emit)
        spec = chosen.spec(
            "session",
            least_retention_ms=self._windows.retention_ms,
            cached=not self._emit.final,
        )
        return self._grouping.table(name, operator, chosen, spec, SessionWindowedSerde)


def check_strategy(strategy: EmitStrategy) -> EmitStrategy:
    """Refuse what is no strategy."""
    if not isinstance(strategy, EmitStrategy):
        raise InvalidArgumentError(
            f"`emit_strategy` takes `EmitStrategy.ON_WINDOW_UPDATE`, `.ON_WINDOW_CLOSE` or `.on_window_close(idle=…)`, "
            f"got {strategy!r}",
            origin=caller(),
        )
    return strategy
