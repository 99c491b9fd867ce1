"""`KStream`: an endless stream of records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from headrace.dsl import hints
from headrace.dsl.beyond import BeyondOperations
from headrace.dsl.branched import BranchedKStream
from headrace.dsl.forms import As, form, hinted
from headrace.dsl.graph import Operation, Sink, StreamTable
from headrace.dsl.grouped import KGroupedStream
from headrace.dsl.handle import add_repartition
from headrace.dsl.joins import JoinOperations
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import Store, choose_store
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.processor import Processor
from headrace.topology import operators
from headrace.topology.arguments import check_supplier, check_topic, stores_of
from headrace.topology.callbacks import check_callable
from headrace.topology.naming import check_name
from headrace.topology.nodes import Partitioner
from headrace.topology.stores import StoreSpec

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")


class KStream(JoinOperations[K, V], BeyondOperations[K, V]):
    """A stream of records with keys of type K and values of type V. Made by `StreamsBuilder.stream`.

    Every operation returns a new stream; nothing runs until the built topology is started.

    >>> from headrace import StreamsBuilder
    >>> StreamsBuilder().stream("orders", value=int)
    <KStream of `KSTREAM-SOURCE-0000000000`>
    """

    def to(
        self,
        topic: str | Callable[[K, V, Any], str],
        *,
        key: As[K] | None = None,
        value: As[V] | None = None,
        partitioner: Partitioner | None = None,
        name: str | None = None,
    ) -> None:
        """Write to a topic, or to the one that `topic(key, value, metadata)` names for each record.

        >>> from headrace import StreamsBuilder
        >>> orders = StreamsBuilder().stream("orders", value=int)
        >>> orders.to("copies")
        >>> orders.to(lambda key, amount, metadata: "large" if amount > 100 else "small")
        """
        origin = caller()
        if callable(topic):
            check_callable(topic, "to", "(key, value, metadata)")
        else:
            check_topic(topic, origin)
        node = Sink(
            name=self._blueprint.name("KSTREAM-SINK-", name),
            parents=(self._node,),
            origin=origin,
            topic=topic if isinstance(topic, str) else None,
            extractor=None if isinstance(topic, str) else topic,
            key=form(key, self._key).serde,
            value=form(value, self._value).serde,
            partitioner=partitioner,
        )
        self._blueprint.add(node)

    def repartition(
        self,
        *,
        key: As[K] | None = None,
        value: As[V] | None = None,
        partitions: int | None = None,
        partitioner: Partitioner | None = None,
        name: str | None = None,
    ) -> KStream[K, V]:
        """Send the records through an internal topic, so that equal keys come together; null keys are dropped.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("orders", value=int).repartition(name="by-user", partitions=8)
        <KStream of `by-user-repartition-source`>
        """
        if name is not None:
            check_name(name, "name", caller())
        if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
            raise InvalidArgumentError(
                f"`partitions` must be a whole number of at least 1, got {partitions!r}",
                node=self._name,
                origin=caller(),
            )
        new_key, new_value = form(key, self._key), form(value, self._value)
        node = add_repartition(
            self._blueprint,
            self._node,
            self._blueprint.namer.node("KSTREAM-REPARTITION-") if name is None else name,
            key=new_key,
            value=new_value,
            partitioner=partitioner,
            partitions=partitions,
            optimizable=False,
        )
        sources = frozenset({self._blueprint.nodes[node].name})
        return KStream(self._blueprint, node, key=new_key, value=new_value, sources=sources)

    def split(self, *, name: str | None = None) -> BranchedKStream[K, V]:
        """Begin to split the stream into branches with names; see `branch` for the short form.

        >>> from headrace import StreamsBuilder
        >>> orders = StreamsBuilder().stream("orders", value=int)
        >>> branches = (
        ...     orders.split(name="size-")
        ...     .branch(lambda key, n: n > 100, name="large")
        ...     .default_branch(name="small")
        ... )
        >>> sorted(branches)
        ['size-large', 'size-small']
        """
        return BranchedKStream(self, name)

    def branch(
        self, *predicates: Callable[[K, V], object], default: bool = False, name: str | None = None
    ) -> tuple[KStream[K, V], ...]:
        """Split the stream: each record goes to the first predicate that holds, else to a last stream if `default`.

        >>> from headrace import StreamsBuilder
        >>> orders = StreamsBuilder().stream("orders", value=int)
        >>> large, small = orders.branch(lambda key, n: n > 100, default=True)
        """
        if not predicates:
            raise InvalidArgumentError(
                "`branch` takes at least one predicate, got none", node=self._name, origin=caller()
            )
        branched = self.split(name=name)
        for predicate in predicates:
            branched.branch(predicate)
        return tuple((branched.default_branch() if default else branched.no_default_branch()).values())

    def group_by_key(
        self, *, key: As[K] | None = None, value: As[V] | None = None, name: str | None = None
    ) -> KGroupedStream[K, V]:
        """Group by the key as it is, for an aggregation.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("clicks", value=str).group_by_key().count()
        <KTable of `KSTREAM-AGGREGATE-0000000002`>
        """
        if name is not None:
            check_name(name, "name", caller())
        return KGroupedStream(
            self._blueprint,
            self._node,
            key=form(key, self._key),
            value=form(value, self._value),
            sources=self._sources,
            rekeyed=self._rekeyed,
            given_name=name,
        )

    def group_by(
        self,
        mapper: Callable[[K, V], K2],
        *,
        key: As[K2] | None = None,
        value: As[V] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K2, V]:
        """Group by a new key, for an aggregation: the records are repartitioned.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("words", value=str).group_by(lambda key, word: word).count(store="counts")
        <KTable of `KSTREAM-AGGREGATE-0000000002`>
        """
        check_callable(mapper, "group_by", "(key, value)")
        selected = self._then(
            "KSTREAM-KEY-SELECT-",
            operators.SelectKey(mapper),
            name,
            key=form(key, hinted(hints.result(mapper))),
            rekeyed=True,
        )
        return KGroupedStream(
            self._blueprint,
            selected._node,
            key=selected._key,
            value=form(value, self._value),
            sources=self._sources,
            rekeyed=True,
            given_name=name,
        )

    def to_table(
        self,
        *,
        key: As[K] | None = None,
        value: As[V] | None = None,
        store: Store[K, V] | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Read the stream as a table: each record is the new value of its key's row, a null value deletes it.

        The rows are kept in a store when it has a name, or when something (a join) reads them.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("moves", value=str).to_table(store="places").queryable_store_name
        'places'
        """
        table_name = self._blueprint.name("KSTREAM-TOTABLE-", name)
        chosen = choose_store(
            store,
            self._blueprint.namer,
            "KSTREAM-TOTABLE-",
            key=form(key, self._key),
            value=form(value, self._value),
        )
        parent, sources = self._node, self._sources
        if self._rekeyed:
            parent = add_repartition(self._blueprint, parent, table_name, key=chosen.key, value=chosen.value)
            sources = frozenset({self._blueprint.nodes[parent].name})
        node = StreamTable(
            name=table_name,
            parents=(parent,),
            origin=caller(),
            store=chosen.spec("timestamped_key_value"),
            materialized=chosen.is_needed,
        )
        return KTable(
            self._blueprint,
            self._blueprint.add(node),
            key=chosen.key,
            value=chosen.value,
            sources=sources,
            store=chosen.name,
            queryable=chosen.queryable,
        )

    def process(
        self,
        supplier: Callable[[], Processor[K, V, K2, V2]],
        *,
        stores: Sequence[str | StoreSpec] = (),
        key: As[K2] | None = None,
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K2, V2]:
        """Run a processor of your own, made anew for each task, with stores by name or made here.

        >>> from headrace import Processor, StreamsBuilder, key_value_store
        >>> class Deduplicate(Processor[str, str, str, str]):
        ...     def process(self, record):
        ...         if self.context.get_state_store("seen").put_if_absent(record.key, 1) is None:
        ...             self.context.forward(record)
        >>> seen = key_value_store("seen", key=str, value=int)
        >>> StreamsBuilder().stream("events", value=str).process(Deduplicate, stores=[seen])
        <KStream of `KSTREAM-PROCESSOR-0000000001`>
        """
        return self._process(supplier, stores, key, value, name, fixed_key=False)

    def process_values(
        self,
        supplier: Callable[[], Processor[K, V, K, V2]],
        *,
        stores: Sequence[str | StoreSpec] = (),
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Run a processor of your own that keeps the key: nothing has to be repartitioned after it.

        >>> from headrace import Processor, StreamsBuilder
        >>> StreamsBuilder().stream("events", value=str).process_values(Processor)
        <KStream of `KSTREAM-PROCESSVALUES-0000000001`>
        """
        return self._process(supplier, stores, None, value, name, fixed_key=True)

    def _process(
        self,
        supplier: Callable[[], Processor[Any, Any, Any, Any]],
        stores: Sequence[str | StoreSpec],
        key: As[Any] | None,
        value: As[Any] | None,
        name: str | None,
        *,
        fixed_key: bool,
    ) -> KStream[Any, Any]:
        prefix = "KSTREAM-PROCESSVALUES-" if fixed_key else "KSTREAM-PROCESSOR-"
        origin = caller()
        if name is not None:
            check_name(name, "name", origin)
        # Unlike elsewhere, a name that is given here uses up no number.
        node_name = self._blueprint.namer.node(prefix) if name is None else name
        check_supplier(supplier, node_name, origin)
        stores = stores_of(supplier, stores, node_name, origin)
        outputs = hints.processor_output(supplier)
        made = form(value, hinted(outputs[1]))
        node = Operation(
            name=node_name,
            parents=(self._node,),
            origin=origin,
            operator=operators.Process(supplier, fixed_key),
            stores=tuple(store for store in stores if isinstance(store, StoreSpec)),
            reads=tuple(store for store in stores if isinstance(store, str)),
            changes_key=not fixed_key,
            changes_value=True,
            written=made.internal,
        )
        return self._after(
            node,
            key=self._key if fixed_key else form(key, hinted(outputs[0])),
            value=made,
            rekeyed=not fixed_key,
        )
