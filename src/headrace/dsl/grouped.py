"""`KGroupedStream`: a stream grouped by key, to be aggregated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, overload

from headrace.dsl import hints
from headrace.dsl.aggregation import Grouping, aggregate_form, count_store, plus_one, zero
from headrace.dsl.cogrouped import CogroupedKStream
from headrace.dsl.cogrouping import Cogrouping
from headrace.dsl.forms import As, Form, form, hinted
from headrace.dsl.handle import Blueprint, Handle
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import Store, choose_store
from headrace.dsl.windowed import SessionWindowedKStream, TimeWindowedKStream
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.topology import operators
from headrace.topology.callbacks import check_callable
from headrace.windows import SessionWindows, SlidingWindows, TimeWindows

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class KGroupedStream(Handle[K, V]):
    """A stream grouped by key. Made by `KStream.group_by` and `KStream.group_by_key`."""

    def __init__(
        self,
        blueprint: Blueprint,
        node: int,
        *,
        key: Form,
        value: Form,
        sources: frozenset[str],
        rekeyed: bool,
        given_name: str | None,
    ) -> None:
        super().__init__(blueprint, node, key=key, value=value, sources=sources)
        self._grouping = Grouping(blueprint, node, key, value, sources, rekeyed, given_name)

    def count(self, *, store: Store[K, int] | None = None, name: str | None = None) -> KTable[K, int]:
        """Count the records of each key; records without a value are not counted.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("clicks", value=str).group_by_key().count(
        ...     store="counts"
        ... ).queryable_store_name
        'counts'
        """
        chosen = count_store(store, self._blueprint.namer, self._key)
        name = self._blueprint.name("KSTREAM-AGGREGATE-", name)
        operator = operators.StreamAggregate(chosen.name, zero, plus_one)
        return self._grouping.table(name, operator, chosen, chosen.spec("timestamped_key_value"))

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        value: As[V] | None = None,
        store: Store[K, V] | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Combine the values of each key: `reducer(so_far, value)`.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("bids", value=int).group_by_key().reduce(max)
        <KTable of `KSTREAM-REDUCE-0000000002`>
        """
        check_callable(reducer, "reduce", "(so far, value)")
        chosen = choose_store(
            store, self._blueprint.namer, "KSTREAM-REDUCE-", key=self._key, value=form(value, self._value)
        )
        name = self._blueprint.name("KSTREAM-REDUCE-", name)
        operator = operators.StreamReduce(chosen.name, reducer)
        return self._grouping.table(name, operator, chosen, chosen.spec("timestamped_key_value"))

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        *,
        value: As[A] | None = None,
        store: Store[K, A] | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """Build up a result for each key, from `initializer()` by `aggregator(key, value, so_far)`.

        >>> from headrace import StreamsBuilder
        >>> orders = StreamsBuilder().stream("orders", value=float)
        >>> orders.group_by_key().aggregate(float, lambda user, amount, total: total + amount, store="totals")
        <KTable of `KSTREAM-AGGREGATE-0000000001`>
        """
        check_callable(initializer, "aggregate", "()")
        check_callable(aggregator, "aggregate", "(key, value, so far)")
        chosen = choose_store(
            store,
            self._blueprint.namer,
            "KSTREAM-AGGREGATE-",
            key=self._key,
            value=aggregate_form(value, initializer, aggregator),
        )
        name = self._blueprint.name("KSTREAM-AGGREGATE-", name)
        operator = operators.StreamAggregate(chosen.name, initializer, aggregator)
        return self._grouping.table(name, operator, chosen, chosen.spec("timestamped_key_value"))

    def cogroup(
        self, aggregator: Callable[[K, V, A], A], *, value: As[A] | None = None
    ) -> CogroupedKStream[K, A]:
        """Begin to aggregate several streams into one table, this one by `aggregator(key, value, so_far)`.

        >>> from headrace import StreamsBuilder
        >>> orders = StreamsBuilder().stream("orders", value=float).group_by_key()
        >>> orders.cogroup(lambda user, amount, total: total + amount, value=float).aggregate(float)
        <KTable of `COGROUPKSTREAM-MERGE-0000000003`>
        """
        check_callable(aggregator, "cogroup", "(key, value, so far)")
        form_ = form(value, hinted(hints.result(aggregator)))
        return CogroupedKStream(Cogrouping(self._blueprint, form_).with_stream(self, aggregator))

    @overload
    def windowed_by(self, windows: TimeWindows | SlidingWindows) -> TimeWindowedKStream[K, V]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedKStream[K, V]: ...
    def windowed_by(
        self, windows: TimeWindows | SlidingWindows | SessionWindows
    ) -> TimeWindowedKStream[K, V] | SessionWindowedKStream[K, V]:
        """Aggregate per key and window instead of over all time.

        >>> from datetime import timedelta
        >>> from headrace import StreamsBuilder, TimeWindows
        >>> clicks = StreamsBuilder().stream("clicks", value=str).group_by_key()
        >>> clicks.windowed_by(TimeWindows(timedelta(minutes=1))).count()
        <KTable of `KSTREAM-AGGREGATE-0000000002`>
        """
        if isinstance(windows, TimeWindows | SlidingWindows):
            return TimeWindowedKStream(self._grouping, windows)
        if isinstance(windows, SessionWindows):
            return SessionWindowedKStream(self._grouping, windows)
        raise InvalidArgumentError(
            f"`windowed_by` takes `TimeWindows`, `SlidingWindows` or `SessionWindows`, got {windows!r}",
            node=self._name,
            origin=caller(),
        )
