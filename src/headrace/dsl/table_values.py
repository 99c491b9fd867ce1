"""Tables made of a table's rows one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from headrace.dsl import hints
from headrace.dsl.forms import As, form, hinted
from headrace.dsl.graph import Operation
from headrace.dsl.handle import check_callable
from headrace.dsl.materialized import Store
from headrace.dsl.old_values import send_old_values
from headrace.dsl.table_handle import TableHandle, specs
from headrace.origin import caller
from headrace.topology import operators
from headrace.topology.views import FilterView, MapValuesView

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable

K = TypeVar("K")
V = TypeVar("V")
V2 = TypeVar("V2")


class TableValueOperations(TableHandle[K, V]):
    """What a `KTable` can do with its rows."""

    def filter(
        self,
        predicate: Callable[[K, V], object],
        *,
        store: Store[K, V] | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Keep the rows for which the predicate holds: one that does not any more is deleted.

        The rows are kept in a store only if it has a name.

        >>> from headrace import StreamsBuilder
        >>> users = StreamsBuilder().table("users", value=int, store="ages")
        >>> users.filter(lambda user, age: age >= 18, store="adults").queryable_store_name
        'adults'
        """
        return self._filter(predicate, store, name, negate=False)

    def filter_not(
        self,
        predicate: Callable[[K, V], object],
        *,
        store: Store[K, V] | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Keep the rows for which the predicate does not hold.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().table("stock", value=int).filter_not(lambda item, n: n == 0)
        <KTable of `KTABLE-FILTER-0000000003`>
        """
        return self._filter(predicate, store, name, negate=True)

    @overload
    def map_values(
        self,
        mapper: Callable[[V], V2],
        *,
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    @overload
    def map_values(
        self,
        mapper: Callable[[K, V], V2],
        *,
        with_key: Literal[True],
        value: As[V2] | None = None,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]: ...
    def map_values(
        self,
        mapper: Callable[..., V2],
        *,
        value: As[V2] | None = None,
        with_key: bool = False,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """Give each row a new value; a deleted row stays deleted and never reaches the mapper.

        The rows are kept in a store only if it has a name.

        >>> from headrace import StreamsBuilder
        >>> names = StreamsBuilder().table("users", value=str)
        >>> names.map_values(str.upper, value=str, store="loud")
        <KTable of `KTABLE-MAPVALUES-0000000003`>
        """
        check_callable(mapper, "map_values", "(key, value)" if with_key else "(value)")
        prefix, mapped = "KTABLE-MAPVALUES-", form(value, hinted(hints.result(mapper)))
        kept = self._optional_store(store, prefix, self._key, mapped)
        node = Operation(
            name=self._blueprint.name(prefix, name),
            parents=(self._node,),
            origin=caller(),
            operator=operators.TableMapValues(mapper, with_key, kept.name),
            stores=specs(kept),
            changes_value=True,
        )
        return self._table(node, kept, MapValuesView(self._view, mapper, with_key), self._sources)

    def _filter(
        self,
        predicate: Callable[[Any, Any], object],
        store: Store[Any, Any] | None,
        name: str | None,
        *,
        negate: bool,
    ) -> KTable[Any, Any]:
        check_callable(predicate, "filter_not" if negate else "filter", "(key, value)")
        kept = self._optional_store(store, "KTABLE-FILTER-", self._key, self._value)
        node = Operation(
            name=self._blueprint.name("KTABLE-FILTER-", name),
            parents=(self._node,),
            origin=caller(),
            operator=operators.TableFilter(predicate, negate, kept.name),
            stores=specs(kept),
            # Of a table that is in a store anyway, to send no tombstone for a row that was not there before either.
            sends_old_values=send_old_values(self._blueprint, self._node, force=False),
        )
        return self._table(node, kept, FilterView(self._view, predicate, negate), self._sources)
