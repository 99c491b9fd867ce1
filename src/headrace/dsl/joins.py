"""Joins of a stream with a table, a global table and another stream."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from headrace.dsl import hints
from headrace.dsl.forms import As, form, hinted
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.joining import Joining, check_no_grace, check_no_windows
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import Store
from headrace.dsl.stateless import StatelessOperations
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.topology.callbacks import check_callable
from headrace.windows import JoinWindows

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")
V2 = TypeVar("V2")
KT = TypeVar("KT")
VT = TypeVar("VT")


class JoinOperations(Joining[K, V]):
    """What a `KStream` can be joined with."""

    @overload
    def join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[V, VT], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        grace: timedelta | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[K, V, VT], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        grace: timedelta | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: GlobalKTable[KT, VT],
        *,
        on: Callable[[K, V], KT],
        join: Callable[[V, VT], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: GlobalKTable[KT, VT],
        *,
        on: Callable[[K, V], KT],
        join: Callable[[K, V, VT], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: KStream[K, VT],
        *,
        windows: JoinWindows,
        join: Callable[[V, VT], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[Any, Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: KStream[K, VT],
        *,
        windows: JoinWindows,
        join: Callable[[K, V, VT], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[Any, Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def join(
        self,
        other: KTable[Any, Any] | GlobalKTable[Any, Any] | KStream[Any, Any],
        *,
        join: Callable[..., V2],
        on: Callable[[K, V], Any] | None = None,
        windows: JoinWindows | None = None,
        value: As[V2] | None = None,
        with_key: bool = False,
        grace: timedelta | None = None,
        store: Store[Any, Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Look each record up in a table; a record without a row is dropped. For a global table `on` chooses the row.

        Records wait for a versioned table that may be behind them if there is a `grace`, in the stream's time.
        With another stream every two records of one key are joined that are as close in time as `windows` says.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> users = builder.table("users", value=str)
        >>> builder.stream("clicks", value=str).join(
        ...     users, join=lambda click, user: f"{user}: {click}", value=str
        ... )
        <KStream of `KSTREAM-JOIN-0000000004`>

        >>> from datetime import timedelta
        >>> from headrace import JoinWindows
        >>> builder = StreamsBuilder()
        >>> orders, payments = builder.stream("orders", value=str), builder.stream("payments", value=int)
        >>> orders.join(
        ...     payments,
        ...     windows=JoinWindows(timedelta(minutes=5)),
        ...     join=lambda order, paid: f"{order}: {paid}",
        ... )
        <KStream of `KSTREAM-MERGE-0000000006`>
        """
        if isinstance(other, StatelessOperations):
            check_no_grace(grace, self._name)
            return self._join_stream(other, on, windows, join, value, with_key, store, name)
        check_no_windows(windows, store, self._name)
        return self._join(other, on, join, value, with_key, grace, name, left=False)

    @overload
    def left_join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[V, VT | None], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        grace: timedelta | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[K, V, VT | None], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        grace: timedelta | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: GlobalKTable[KT, VT],
        *,
        on: Callable[[K, V], KT],
        join: Callable[[V, VT | None], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: GlobalKTable[KT, VT],
        *,
        on: Callable[[K, V], KT],
        join: Callable[[K, V, VT | None], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KStream[K, VT],
        *,
        windows: JoinWindows,
        join: Callable[[V, VT | None], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[Any, Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KStream[K, VT],
        *,
        windows: JoinWindows,
        join: Callable[[K, V, VT | None], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[Any, Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def left_join(
        self,
        other: KTable[Any, Any] | GlobalKTable[Any, Any] | KStream[Any, Any],
        *,
        join: Callable[..., V2],
        on: Callable[[K, V], Any] | None = None,
        windows: JoinWindows | None = None,
        value: As[V2] | None = None,
        with_key: bool = False,
        grace: timedelta | None = None,
        store: Store[Any, Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Look each record up in a table; without a row the joiner gets None. For a global table `on` chooses the row.

        Records wait for a versioned table that may be behind them if there is a `grace`, in the stream's time.
        With another stream, a record that has met nobody when its window is over is joined with None.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> risk = builder.global_table("risk", value=int)
        >>> builder.stream("payments", value=str).left_join(
        ...     risk, on=lambda key, payment: key, join=lambda payment, score: score or 0, value=int
        ... )
        <KStream of `KSTREAM-LEFTJOIN-0000000004`>
        """
        if isinstance(other, StatelessOperations):
            check_no_grace(grace, self._name)
            return self._join_stream(other, on, windows, join, value, with_key, store, name, left=True)
        check_no_windows(windows, store, self._name)
        return self._join(other, on, join, value, with_key, grace, name, left=True)

    @overload
    def outer_join(
        self,
        other: KStream[K, VT],
        *,
        windows: JoinWindows,
        join: Callable[[V | None, VT | None], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[Any, Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def outer_join(
        self,
        other: KStream[K, VT],
        *,
        windows: JoinWindows,
        join: Callable[[K, V | None, VT | None], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[Any, Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def outer_join(
        self,
        other: KStream[Any, Any],
        *,
        windows: JoinWindows,
        join: Callable[..., V2],
        value: As[V2] | None = None,
        with_key: bool = False,
        store: Store[Any, Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Join with another stream; records of both that have met nobody are joined with None.

        >>> from datetime import timedelta
        >>> from headrace import JoinWindows, StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> orders, payments = builder.stream("orders", value=str), builder.stream("payments", value=int)
        >>> windows = JoinWindows(timedelta(minutes=5), grace=timedelta(minutes=1))
        >>> orders.outer_join(
        ...     payments, windows=windows, join=lambda order, paid: f"{order}: {paid}", name="paid"
        ... )
        <KStream of `paid-merge`>
        """
        return self._join_stream(
            other, None, windows, join, value, with_key, store, name, left=True, right=True
        )

    def _join(
        self,
        table: KTable[Any, Any] | GlobalKTable[Any, Any],
        on: Callable[[K, V], Any] | None,
        join: Callable[..., V2],
        value: As[V2] | None,
        with_key: bool,
        grace: timedelta | None,
        name: str | None,
        *,
        left: bool,
    ) -> KStream[K, V2]:
        check_callable(join, "join", "(key, value, row)" if with_key else "(value, row)")
        joined = form(value, hinted(hints.result(join)))
        if isinstance(table, GlobalKTable):
            check_callable(on, "on", "(key, value)")
            check_no_grace(grace, self._name)
            self._check_same_builder(table._blueprint)
            return self._join_global(table, on or _key, join, joined, with_key, name, left=left)
        if not isinstance(table, KTable):
            raise InvalidArgumentError(
                f"a stream is joined with a `KStream`, a `KTable` or a `GlobalKTable`, got {table!r}",
                node=self._name,
                origin=caller(),
            )
        if on is not None:
            raise InvalidArgumentError(
                "`on` is for global tables: a `KTable` is joined by its key, so use `select_key` first",
                node=self._name,
                origin=caller(),
            )
        self._check_same_builder(table._blueprint)
        stream = self._repartitioned(name, self._key.otherwise(table._key)) if self._rekeyed else self
        return stream._join_table(table, join, joined, with_key, grace, name, left=left)


def _key(key: object, value: object) -> object:
    return key
