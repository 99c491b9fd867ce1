"""How a join becomes nodes: what `JoinOperations` is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.dsl import hints
from headrace.dsl.forms import As, Form, form, hinted
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.grace import grace_buffer
from headrace.dsl.graph import Operation
from headrace.dsl.handle import add_repartition
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import Materialized, Store
from headrace.dsl.stateless import StatelessOperations
from headrace.dsl.stream_join import add_stream_join
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.topology import operators
from headrace.topology.callbacks import check_callable
from headrace.topology.naming import check_name
from headrace.topology.stores import StoreSpec
from headrace.windows import JoinWindows, milliseconds

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")


class Joining(StatelessOperations[K, V]):
    """A stream that can be joined."""

    _join_repartition: int | None = None

    def _join_table(
        self,
        table: KTable[Any, Any],
        join: Callable[..., Any],
        value: Form,
        with_key: bool,
        grace: timedelta | None,
        name: str | None,
        *,
        left: bool,
    ) -> KStream[Any, Any]:
        sources, rows = self._sources | table._sources, table._rows()
        node_name = self._blueprint.name("KSTREAM-LEFTJOIN-" if left else "KSTREAM-JOIN-", name)
        operator = operators.StreamTableJoin(rows, join, left, with_key)
        buffers: tuple[StoreSpec, ...] = ()
        if grace is not None:
            grace_ms = milliseconds(grace, "grace", positive=False)
            key = self._key.otherwise(table._key)
            buffer = grace_buffer(self._blueprint, table._node, rows, grace_ms, node_name, key, self._value)
            operator, buffers = replace(operator, buffer=buffer.name, grace_ms=grace_ms), (buffer,)
        node = Operation(
            name=node_name,
            parents=(self._node,),
            origin=caller(),
            operator=operator,
            stores=buffers,
            reads=rows.stores,
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
            changes_value=True,
            keeps_null_keys=left,
        )
        return self._after(node, value=value)

    def _join_stream(
        self,
        other: StatelessOperations[Any, Any],
        on: object,
        windows: JoinWindows | None,
        join: Callable[..., Any],
        value: As[Any] | None,
        with_key: bool,
        store: Store[Any, Any] | None,
        name: str | None,
        *,
        left: bool = False,
        right: bool = False,
    ) -> KStream[Any, Any]:
        if not isinstance(other, Joining):
            raise self._wrong(f"a stream is outer-joined with a `KStream`, got {other!r}")
        if on is not None:
            raise self._wrong(
                "`on` is for global tables: streams are joined by key, so use `select_key` first"
            )
        if not isinstance(windows, JoinWindows):
            raise self._wrong(f"streams are joined within `windows=JoinWindows(...)`, got {windows!r}")
        check_callable(join, "join", "(key, value, other value)" if with_key else "(value, other value)")
        self._check_same_builder(other._blueprint)
        # Both sides have the same keys: a key that nobody put a type to is written as the other's.
        key = self._key.otherwise(other._key)
        this: Joining[Any, Any] = self
        if name is not None:
            check_name(name, "name", caller())
        if this._rekeyed:
            this = this._repartitioned(None if name is None else f"{name}-left", key)
        if other._rekeyed:
            other = other._repartitioned(None if name is None else f"{name}-right", key)
        sources = this._sources | other._sources
        node = add_stream_join(
            self._blueprint,
            (this._node, other._node),
            operators.StreamStreamJoin("", windows, join, True, left, None, "", with_key),
            Materialized(store) if not isinstance(store, Materialized) else store,
            name,
            key=key.serde,
            values=(this._value.internal, other._value.internal),
            right=right,
            sources=sources,
        )
        joined = form(value, hinted(hints.result(join)))
        return self._blueprint.make_stream(self._blueprint, node, key=key, value=joined, sources=sources)

    def _repartitioned(self, base: str | None, key: Form) -> Joining[K, V]:
        """The stream through a repartition topic. Joins without a name of their own share it."""
        if base is not None:
            check_name(base, "name", caller())
        base = self._name if base is None else base
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

    def _wrong(self, message: str) -> InvalidArgumentError:
        return InvalidArgumentError(message, node=self._name, origin=caller())


def check_no_grace(grace: object, node: str) -> None:
    """Only a table with a history has rows as of the time at which a record was."""
    if grace is not None:
        raise InvalidArgumentError(
            "`grace` is for a join with a versioned `KTable`: leave it out (two streams have theirs in `windows`)",
            node=node,
            origin=caller(),
        )


def check_no_windows(windows: object, store: object, node: str) -> None:
    """Tables have no time to be close in, and no store of the join's own."""
    if windows is not None or store is not None:
        raise InvalidArgumentError(
            f"`{'store' if windows is None else 'windows'}` is for a join with a `KStream`: leave it out",
            node=node,
            origin=caller(),
        )
