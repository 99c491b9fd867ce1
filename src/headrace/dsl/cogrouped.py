"""`CogroupedKStream`: several grouped streams, aggregated into one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from headrace.dsl import hints
from headrace.dsl.cogrouping import Cogrouping
from headrace.dsl.forms import UNKNOWN, As, Form, form, hinted
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import Store
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.record import Windowed
from headrace.serdes import SessionWindowedSerde, TimeWindowedSerde
from headrace.topology.callbacks import check_callable
from headrace.topology.operators import SessionAggregate, SlidingAggregate, StreamAggregate, WindowedAggregate
from headrace.windows import SessionWindows, SlidingWindows, TimeWindows

if TYPE_CHECKING:
    from headrace.dsl.grouped import KGroupedStream

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class CogroupedKStream(Generic[K, A]):
    """Grouped streams, each with its own aggregator, that share one aggregate. Made by `KGroupedStream.cogroup`."""

    def __init__(self, cogrouping: Cogrouping) -> None:
        self._cogrouping = cogrouping

    def cogroup(
        self, grouped: KGroupedStream[K, V], aggregator: Callable[[K, V, A], A]
    ) -> CogroupedKStream[K, A]:
        """Add a stream with its own `aggregator(key, value, so_far)`.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> paid = builder.stream("paid", value=float).group_by_key()
        >>> returned = builder.stream("returned", value=float).group_by_key()
        >>> balance = paid.cogroup(lambda user, amount, total: total + amount, value=float)
        >>> balance.cogroup(returned, lambda user, amount, total: total - amount).aggregate(float)
        <KTable of `COGROUPKSTREAM-MERGE-0000000005`>
        """
        check_callable(aggregator, "cogroup", "(key, value, so far)")
        return CogroupedKStream(self._cogrouping.with_stream(grouped, aggregator))

    def aggregate(
        self,
        initializer: Callable[[], A],
        *,
        value: As[A] | None = None,
        store: Store[K, A] | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """Build up one result for each key, from `initializer()`; records without a value are not counted.

        >>> from headrace import StreamsBuilder
        >>> clicks = StreamsBuilder().stream("clicks", value=str).group_by_key()
        >>> clicks.cogroup(lambda user, page, seen: seen + 1, value=int).aggregate(int, store="seen")
        <KTable of `COGROUPKSTREAM-MERGE-0000000002`>
        """
        check_callable(initializer, "aggregate", "()")
        chosen = self._cogrouping.choose(store, _form(self._cogrouping, value, initializer))
        return self._cogrouping.table(
            name,
            chosen,
            chosen.spec("timestamped_key_value"),
            lambda aggregator: StreamAggregate(chosen.name, initializer, aggregator),
        )

    @overload
    def windowed_by(self, windows: TimeWindows | SlidingWindows) -> TimeWindowedCogroupedKStream[K, A]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedCogroupedKStream[K, A]: ...
    def windowed_by(
        self, windows: TimeWindows | SlidingWindows | SessionWindows
    ) -> TimeWindowedCogroupedKStream[K, A] | SessionWindowedCogroupedKStream[K, A]:
        """Aggregate per key and window. Whether a record is late is judged for each stream by itself.

        >>> from datetime import timedelta
        >>> from headrace import StreamsBuilder, TimeWindows
        >>> clicks = StreamsBuilder().stream("clicks", value=str).group_by_key()
        >>> seen = clicks.cogroup(lambda user, page, seen: seen + 1, value=int)
        >>> seen.windowed_by(TimeWindows(timedelta(minutes=1))).aggregate(int)
        <KTable of `COGROUPKSTREAM-MERGE-0000000003`>
        """
        if isinstance(windows, TimeWindows | SlidingWindows):
            return TimeWindowedCogroupedKStream(self._cogrouping, windows)
        if isinstance(windows, SessionWindows):
            return SessionWindowedCogroupedKStream(self._cogrouping, windows)
        raise InvalidArgumentError(
            f"`windowed_by` takes `TimeWindows`, `SlidingWindows` or `SessionWindows`, got {windows!r}",
            origin=caller(),
        )


class TimeWindowedCogroupedKStream(Generic[K, A]):
    """Cogrouped streams in time or sliding windows. Made by `CogroupedKStream.windowed_by`."""

    def __init__(self, cogrouping: Cogrouping, windows: TimeWindows | SlidingWindows) -> None:
        self._cogrouping = cogrouping
        self._windows = windows

    def aggregate(
        self,
        initializer: Callable[[], A],
        *,
        value: As[A] | None = None,
        store: Store[K, A] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """Build up one result for each key and window, from `initializer()`.

        >>> from datetime import timedelta
        >>> from headrace import SlidingWindows, StreamsBuilder
        >>> clicks = StreamsBuilder().stream("clicks", value=str).group_by_key()
        >>> seen = clicks.cogroup(lambda user, page, seen: seen + 1, value=int)
        >>> seen.windowed_by(SlidingWindows(timedelta(minutes=1))).aggregate(int, store="seen")
        <KTable of `COGROUPKSTREAM-MERGE-0000000002`>
        """
        check_callable(initializer, "aggregate", "()")
        windows, size_ms = self._windows, self._windows.size_ms
        chosen = self._cogrouping.choose(store, _form(self._cogrouping, value, initializer))

        def operator(aggregator: Callable[[Any, Any, Any], Any]) -> WindowedAggregate | SlidingAggregate:
            if isinstance(windows, SlidingWindows):
                return SlidingAggregate(chosen.name, windows, initializer, aggregator)
            return WindowedAggregate(chosen.name, windows, initializer, aggregator)

        return self._cogrouping.table(
            name,
            chosen,
            chosen.spec(
                "timestamped_window", least_retention_ms=windows.retention_ms, window_size_ms=size_ms
            ),
            operator,
            lambda inner: TimeWindowedSerde(inner, size_ms),
        )


class SessionWindowedCogroupedKStream(Generic[K, A]):
    """Cogrouped streams in sessions. Made by `CogroupedKStream.windowed_by`."""

    def __init__(self, cogrouping: Cogrouping, windows: SessionWindows) -> None:
        self._cogrouping = cogrouping
        self._windows = windows

    def aggregate(
        self,
        initializer: Callable[[], A],
        merger: Callable[[K, A, A], object],
        *,
        value: As[A] | None = None,
        store: Store[K, A] | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """Build up one result for each key and session; `merger(key, left, right)` joins two sessions.

        >>> from datetime import timedelta
        >>> from headrace import SessionWindows, StreamsBuilder
        >>> clicks = StreamsBuilder().stream("clicks", value=str).group_by_key()
        >>> seen = clicks.cogroup(lambda user, page, seen: seen + 1, value=int)
        >>> visits = seen.windowed_by(SessionWindows(gap=timedelta(minutes=5)))
        >>> visits.aggregate(int, lambda user, left, right: left + right)
        <KTable of `COGROUPKSTREAM-MERGE-0000000003`>
        """
        check_callable(initializer, "aggregate", "()")
        check_callable(merger, "aggregate", "(key, left, right)")
        windows = self._windows
        chosen = self._cogrouping.choose(store, _form(self._cogrouping, value, initializer))
        return self._cogrouping.table(
            name,
            chosen,
            chosen.spec("session", least_retention_ms=windows.retention_ms),
            lambda aggregator: SessionAggregate(chosen.name, windows, initializer, aggregator, merger),
            SessionWindowedSerde,
        )


def _form(cogrouping: Cogrouping, value: As[Any] | None, initializer: Callable[[], Any]) -> Form:
    """How the aggregate is written: as said here or with the first stream, else as an annotation or the start says."""
    started = hinted(hints.result(initializer), UNKNOWN)
    return form(value, cogrouping.value if cogrouping.value.serde is not None else started)
