"""Joins of a stream with a table and with a global table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from headrace.dsl import hints
from headrace.dsl.forms import As, Form, form, hinted
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.graph import Operation
from headrace.dsl.handle import add_repartition, check_callable
from headrace.dsl.ktable import KTable
from headrace.dsl.stateless import StatelessOperations
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.topology import operators
from headrace.topology.naming import check_name

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")
V2 = TypeVar("V2")
KT = TypeVar("KT")
VT = TypeVar("VT")


class JoinOperations(StatelessOperations[K, V]):
    """What a `KStream` can be joined with."""

    _join_repartition: int | None = None

    @overload
    def join(
        self,
        table: KTable[K, VT],
        *,
        join: Callable[[V, VT], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        table: KTable[K, VT],
        *,
        join: Callable[[K, V, VT], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        table: GlobalKTable[KT, VT],
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
        table: GlobalKTable[KT, VT],
        *,
        on: Callable[[K, V], KT],
        join: Callable[[K, V, VT], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def join(
        self,
        table: KTable[Any, Any] | GlobalKTable[Any, Any],
        *,
        join: Callable[..., V2],
        on: Callable[[K, V], Any] | None = None,
        value: As[V2] | None = None,
        with_key: bool = False,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Look each record up in a table; a record without a row is dropped. For a global table `on` chooses the row.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> users = builder.table("users", value=str)
        >>> builder.stream("clicks", value=str).join(
        ...     users, join=lambda click, user: f"{user}: {click}", value=str
        ... )
        <KStream of `KSTREAM-JOIN-0000000004`>
        """
        return self._join(table, on, join, value, with_key, name, left=False)

    @overload
    def left_join(
        self,
        table: KTable[K, VT],
        *,
        join: Callable[[V, VT | None], V2],
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        table: KTable[K, VT],
        *,
        join: Callable[[K, V, VT | None], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        table: GlobalKTable[KT, VT],
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
        table: GlobalKTable[KT, VT],
        *,
        on: Callable[[K, V], KT],
        join: Callable[[K, V, VT | None], V2],
        with_key: Literal[True],
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def left_join(
        self,
        table: KTable[Any, Any] | GlobalKTable[Any, Any],
        *,
        join: Callable[..., V2],
        on: Callable[[K, V], Any] | None = None,
        value: As[V2] | None = None,
        with_key: bool = False,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Look each record up in a table; without a row the joiner gets None. For a global table `on` chooses the row.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> risk = builder.global_table("risk", value=int)
        >>> builder.stream("payments", value=str).left_join(
        ...     risk, on=lambda key, payment: key, join=lambda payment, score: score or 0, value=int
        ... )
        <KStream of `KSTREAM-LEFTJOIN-0000000004`>
        """
        return self._join(table, on, join, value, with_key, name, left=True)

    def _join(
        self,
        table: KTable[Any, Any] | GlobalKTable[Any, Any],
        on: Callable[[K, V], Any] | None,
        join: Callable[..., V2],
        value: As[V2] | None,
        with_key: bool,
        name: str | None,
        *,
        left: bool,
    ) -> KStream[K, V2]:
        check_callable(join, "join", "(key, value, row)" if with_key else "(value, row)")
        joined = form(value, hinted(hints.result(join)))
        if isinstance(table, GlobalKTable):
            check_callable(on, "on", "(key, value)")
            self._check_same_builder(table._blueprint)
            return self._join_global(table, on or _key, join, joined, with_key, name, left=left)
        if not isinstance(table, KTable):
            raise InvalidArgumentError(
                f"a stream is joined with a `KTable` or a `GlobalKTable`, got {table!r}",
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
        stream = self._repartitioned_for(table, name) if self._rekeyed else self
        return stream._join_table(table, join, joined, with_key, name, left=left)

    def _join_table(
        self,
        table: KTable[Any, Any],
        join: Callable[..., Any],
        value: Form,
        with_key: bool,
        name: str | None,
        *,
        left: bool,
    ) -> KStream[Any, Any]:
        sources = self._sources | table._sources
        node = Operation(
            name=self._blueprint.name("KSTREAM-LEFTJOIN-" if left else "KSTREAM-JOIN-", name),
            parents=(self._node,),
            origin=caller(),
            operator=operators.StreamTableJoin(table._store, join, left, with_key),
            reads=(table._store,),
            keeps_null_keys=left,
            joined_sources=sources,
        )
        return self._blueprint.make_stream(
            self._blueprint, self._blueprint.add(node), key=self._key, value=value, sources=sources
        )

    def _join_global(
        self,
        table: GlobalKTable[Any, Any],
        on: Callable[[Any, Any], Any],
        join: Callable[..., Any],
        value: Form,
        with_key: bool,
        name: str | None,
        *,
        left: bool,
    ) -> KStream[Any, Any]:
        node = Operation(
            # Kafka Streams gives inner joins this name too.
            name=self._blueprint.name("KSTREAM-LEFTJOIN-", name),
            parents=(self._node,),
            origin=caller(),
            operator=operators.StreamGlobalTableJoin(table._node.store.name, on, join, left, with_key),
            keeps_null_keys=left,
        )
        return self._after(node, value=value)

    def _repartitioned_for(self, table: KTable[Any, Any], name: str | None) -> JoinOperations[K, V]:
        """The stream through a repartition topic. Joins without a name of their own share it."""
        if name is not None:
            check_name(name, "name", caller())
        # Both sides have the same keys: a key that nobody put a type to is written as the table's.
        key = self._key.otherwise(table._key)
        base = self._name if name is None else name
        self._join_repartition = add_repartition(
            self._blueprint,
            self._node,
            base,
            key=key,
            value=self._value,
            reuse=self._join_repartition if base == self._name else None,
        )
        node = self._join_repartition
        return self._blueprint.make_stream(
            self._blueprint,
            node,
            key=key,
            value=self._value,
            sources=frozenset({self._blueprint.nodes[node].name}),
        )


def _key(key: object, value: object) -> object:
    return key
