"""Tables made of a table's rows one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from headrace.dsl import hints
from headrace.dsl.forms import As, form, hinted
from headrace.dsl.graph import Operation
from headrace.dsl.materialized import Materialized, Store
from headrace.dsl.old_values import send_old_values
from headrace.dsl.table_handle import OptionalStore, TableHandle, specs
from headrace.origin import caller
from headrace.processor import ValueTransformer
from headrace.topology import operators
from headrace.topology.arguments import check_stores, check_supplier
from headrace.topology.callbacks import check_callable
from headrace.topology.stores import StoreSpec
from headrace.topology.views import FilterView, MapValuesView, TransformView

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
            versioned=kept.versioned,
        )
        return self._table(node, kept, MapValuesView(self._view, mapper, with_key), self._sources)

    def transform_values(
        self,
        supplier: Callable[[], ValueTransformer[K, V, V2]],
        *,
        stores: Sequence[str | StoreSpec] = (),
        value: As[V2] | None = None,
        store: Store[K, V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """Give each row a new value by a transformer of your own, with stores by name or made here.

        The new rows are kept in a store only if it has a name; `stores` are the transformer's own.

        >>> from headrace import StreamsBuilder, ValueTransformer, key_value_store
        >>> class Versions(ValueTransformer[str, str, str]):
        ...     def transform(self, key, value):
        ...         seen = self.context.get_state_store("seen")
        ...         seen.put(key, (seen.get(key) or 0) + 1)
        ...         return f"{value} (version {seen.get(key)})"
        >>> seen = key_value_store("seen", key=str, value=int)
        >>> pages = StreamsBuilder().table("pages", value=str)
        >>> pages.transform_values(Versions, stores=[seen], value=str, store="versions")
        <KTable of `KTABLE-TRANSFORMVALUES-0000000003`>
        """
        origin, made = caller(), hints.result(supplier)
        returned = hints.result(made.transform) if hasattr(made, "transform") else None
        kept = OptionalStore(self._key, form(value, hinted(returned)))
        settings = Materialized(store) if isinstance(store, str) else store or Materialized()
        if settings.name is not None:
            kept = self._optional_store(settings, "", kept.key, kept.value)
        else:
            # Unlike elsewhere, a store without a name uses up no number.
            kept = OptionalStore(
                form(settings.key, kept.key),
                form(settings.value, kept.value),
                versioned=None if store is None else False,
            )
        node_name = self._blueprint.name("KTABLE-TRANSFORMVALUES-", name)
        check_supplier(supplier, node_name, origin, ValueTransformer, "transformer")
        stores = check_stores(stores, node_name, origin)
        own = tuple(each.name if isinstance(each, StoreSpec) else each for each in stores)
        node = Operation(
            name=node_name,
            parents=(self._node,),
            origin=origin,
            operator=operators.TableTransformValues(supplier, kept.name),
            stores=(*specs(kept), *(each for each in stores if isinstance(each, StoreSpec))),
            reads=tuple(each for each in stores if isinstance(each, str)),
            versioned=kept.versioned,
        )
        return self._table(node, kept, TransformView(self._view, supplier, own), self._sources)

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
            versioned=kept.versioned,
            # Of a table that is in a store anyway, to send no tombstone for a row that was not there before either.
            sends_old_values=send_old_values(self._blueprint, self._node, force=False),
        )
        return self._table(node, kept, FilterView(self._view, predicate, negate), self._sources)
