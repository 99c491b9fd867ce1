"""Joins of two tables: by their keys, or by a key of the other that is in the rows of this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from headrace.dsl.forms import As
from headrace.dsl.materialized import Store
from headrace.dsl.table_joining import TableJoining
from headrace.topology.nodes import Partitioner

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable

K = TypeVar("K")
V = TypeVar("V")
V2 = TypeVar("V2")
KO = TypeVar("KO")
VT = TypeVar("VT")


class TableJoinOperations(TableJoining[K, V]):
    """What a `KTable` can be joined with."""

    @overload
    def join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[V, VT], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[K, V, VT], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[KO, VT],
        *,
        on: Callable[[K, V], KO | None],
        join: Callable[[V, VT], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[KO, VT],
        *,
        on: Callable[[K, V], KO | None],
        join: Callable[[K, V, VT], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[K, V2] | None = None,
        name: str | None = None,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
    ) -> KTable[K, V2]: ...
    def join(
        self,
        other: KTable[Any, Any],
        *,
        join: Callable[..., V2],
        on: Callable[[K, V], Any] | None = None,
        value: As[V2] | None = None,
        with_key: bool = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
    ) -> KTable[K, V2]:
        """A row for each key that both tables have, worked out again when either side changes.

        With `on` the other table is asked for another key, a foreign one, that `on(key, value)` finds in the row of
        this one; None for none. A row of the other then meets all rows that name it, wherever they are. Where the
        tables are not partitioned by the hash of their keys, `partitioner` and `other_partitioner` say how they are:
        they get None for the value.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> names, cities = builder.table("names", value=str), builder.table("cities", value=str)
        >>> names.join(cities, join=lambda name, city: f"{name} of {city}", value=str, store="people")
        <KTable of `KTABLE-MERGE-0000000006`>
        >>> orders, users = builder.table("orders", value=dict), builder.table("users", value=str)
        >>> orders.join(
        ...     users, on=lambda id, order: order["user"], join=lambda order, user: user, name="named"
        ... )
        <KTable of `named-result`>
        """
        if on is not None:
            partitioners = (partitioner, other_partitioner)
            return self._join_on(other, on, join, value, with_key, store, name, *partitioners, left=False)
        self._check_no_partitioner(partitioner or other_partitioner)
        return self._join(other, join, value, with_key, store, name, keeps_this=False, keeps_other=False)

    @overload
    def left_join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[V, VT | None], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[K, V, VT | None], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[KO, VT],
        *,
        on: Callable[[K, V], KO | None],
        join: Callable[[V, VT | None], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[KO, VT],
        *,
        on: Callable[[K, V], KO | None],
        join: Callable[[K, V, VT | None], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[K, V2] | None = None,
        name: str | None = None,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
    ) -> KTable[K, V2]: ...
    def left_join(
        self,
        other: KTable[Any, Any],
        *,
        join: Callable[..., V2],
        on: Callable[[K, V], Any] | None = None,
        value: As[V2] | None = None,
        with_key: bool = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
    ) -> KTable[K, V2]:
        """A row for each key of this table; where the other table has none, the joiner gets None.

        `on` and the partitioners are those of `join`; a row whose foreign key is None is kept, too.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> names, cities = builder.table("names", value=str), builder.table("cities", value=str)
        >>> names.left_join(cities, join=lambda name, city: f"{name} of {city or 'nowhere'}", value=str)
        <KTable of `KTABLE-MERGE-0000000006`>
        """
        if on is not None:
            partitioners = (partitioner, other_partitioner)
            return self._join_on(other, on, join, value, with_key, store, name, *partitioners, left=True)
        self._check_no_partitioner(partitioner or other_partitioner)
        return self._join(other, join, value, with_key, store, name, keeps_this=True, keeps_other=False)

    @overload
    def outer_join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[V | None, VT | None], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def outer_join(
        self,
        other: KTable[K, VT],
        *,
        join: Callable[[K, V | None, VT | None], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    def outer_join(
        self,
        other: KTable[K, Any],
        *,
        join: Callable[..., V2],
        value: As[V2] | None = None,
        with_key: bool = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """A row for each key that either table has; the joiner gets None for a side that has none.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> web, shop = builder.table("web", value=int), builder.table("shop", value=int)
        >>> web.outer_join(shop, join=lambda a, b: (a or 0) + (b or 0), value=int, name="sales")
        <KTable of `sales`>
        """
        return self._join(other, join, value, with_key, store, name, keeps_this=True, keeps_other=True)
