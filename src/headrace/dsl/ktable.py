"""`KTable`: the latest value per key, and its changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from headrace.dsl import hints
from headrace.dsl.forms import As, form, hinted
from headrace.dsl.graph import Operation
from headrace.dsl.grouped_table import KGroupedTable
from headrace.dsl.old_values import send_old_values
from headrace.dsl.suppressing import TableSuppressOperations
from headrace.dsl.table_joins import TableJoinOperations
from headrace.dsl.table_values import TableValueOperations
from headrace.origin import caller
from headrace.topology import operators
from headrace.topology.callbacks import check_callable

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")


class KTable(TableJoinOperations[K, V], TableValueOperations[K, V], TableSuppressOperations[K, V]):
    """A table: the latest value of each key. Made by `StreamsBuilder.table` and by aggregations.

    >>> from headrace import StreamsBuilder
    >>> StreamsBuilder().table("users", value=dict, store="users-store")
    <KTable of `KTABLE-SOURCE-0000000001`>
    """

    @overload
    def to_stream(self, *, name: str | None = None) -> KStream[K, V]: ...
    @overload
    def to_stream(
        self, mapper: Callable[[K, V], K2], *, key: As[K2] | None = None, name: str | None = None
    ) -> KStream[K2, V]: ...
    def to_stream(
        self,
        mapper: Callable[[K, V], Any] | None = None,
        *,
        key: As[Any] | None = None,
        name: str | None = None,
    ) -> KStream[Any, V]:
        """The changes of the table as a stream; a deleted row has the value None. A mapper gives each a new key.

        >>> from headrace import StreamsBuilder
        >>> counts = StreamsBuilder().stream("words", value=str).group_by_key().count()
        >>> counts.to_stream()
        <KStream of `KTABLE-TOSTREAM-0000000003`>
        """
        node = Operation(
            name=self._blueprint.name("KTABLE-TOSTREAM-", name),
            parents=(self._node,),
            origin=caller(),
            operator=operators.TableToStream(),
        )
        stream = self._blueprint.make_stream(
            self._blueprint,
            self._blueprint.add(node),
            key=self._key,
            value=self._value,
            sources=self._sources,
        )
        return stream if mapper is None else stream.select_key(mapper, key=key)

    def group_by(
        self,
        mapper: Callable[[K, V], tuple[K2, V2]],
        *,
        key: As[K2] | None = None,
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KGroupedTable[K2, V2]:
        """Group the rows by another key: `mapper(key, value)` gives each its group and what is aggregated of it.

        The rows are repartitioned. One whose group or value is None is in no group.

        >>> from headrace import StreamsBuilder
        >>> users = StreamsBuilder().table("users", value=dict)
        >>> users.group_by(lambda user, profile: (profile["city"], 1), value=int).count()
        <KTable of `KTABLE-AGGREGATE-0000000007`>
        """
        check_callable(mapper, "group_by", "(key, value) that returns (key, value)")
        outputs = hints.pair(hints.result(mapper))
        node = Operation(
            name=self._blueprint.name("KTABLE-SELECT-", name),
            parents=(self._node,),
            origin=caller(),
            operator=operators.TableGroupBy(mapper),
        )
        number = self._blueprint.add(node)
        send_old_values(self._blueprint, self._node)
        return KGroupedTable(
            self._blueprint,
            number,
            key=form(key, hinted(outputs[0])),
            value=form(value, hinted(outputs[1])),
            sources=self._sources,
            given_name=name,
            make_table=type(self),
        )
