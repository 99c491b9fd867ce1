"""What Kafka Streams does not offer: operations of a stream that its users write by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from headrace.dsl import hints
from headrace.dsl.forms import UNKNOWN, As, Form, form, hinted
from headrace.dsl.graph import Operation
from headrace.dsl.handle import add_repartition
from headrace.dsl.materialized import Materialized, Store, choose_store
from headrace.dsl.stateless import StatelessOperations
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.partitioning import partition_for
from headrace.serdes import Serde, TaggedSerde
from headrace.serdes.identity import KeyAndIdSerde, PassedSerde
from headrace.topology import operators
from headrace.topology.callbacks import check_callable
from headrace.windows import milliseconds

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")
V2 = TypeVar("V2")
I = TypeVar("I")  # noqa: E741


class BeyondOperations(StatelessOperations[K, V]):
    """What a `KStream` can do beyond Kafka Streams."""

    @overload
    def map_values_async(
        self,
        mapper: Callable[[V], Awaitable[V2]],
        *,
        concurrency: int = 16,
        timeout: timedelta | None = timedelta(seconds=30),
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def map_values_async(
        self,
        mapper: Callable[[K, V], Awaitable[V2]],
        *,
        with_key: Literal[True],
        concurrency: int = 16,
        timeout: timedelta | None = timedelta(seconds=30),
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def map_values_async(
        self,
        mapper: Callable[..., Awaitable[V2]],
        *,
        concurrency: int = 16,
        timeout: timedelta | None = timedelta(seconds=30),
        value: As[V2] | None = None,
        with_key: bool = False,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Turn each value into another by an `async def` function, such as a question to another service.

        Up to `concurrency` calls of a task are under way at once; the results go on in the order of the records, and
        all of them before the batch is committed. A call that raises, or takes longer than `timeout`, is the
        processing handler's. After a failure calls may be made again.

        >>> from headrace import StreamsBuilder
        >>> from headrace.testing import TopologyTestDriver
        >>> async def length(word: str) -> int:
        ...     return len(word)
        >>> builder = StreamsBuilder()
        >>> builder.stream("words", value=str).map_values_async(length, concurrency=8).to("lengths")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input("words").pipe("a", "apple")
        ...     driver.output("lengths").read_values()
        [5]
        """
        check_callable(mapper, "map_values_async", "(key, value)" if with_key else "(value)")
        if not isinstance(concurrency, int) or concurrency < 1:
            raise InvalidArgumentError(
                f"`concurrency` must be at least 1, got {concurrency!r}", node=self._name, origin=caller()
            )
        timeout_ms = None if timeout is None else milliseconds(timeout, "timeout")
        new_value = form(value, hinted(hints.awaited(hints.result(mapper))))
        operator = operators.MapValuesAsync(mapper, concurrency, timeout_ms, with_key)
        return self._then("KSTREAM-MAPVALUESASYNC-", operator, name, value=new_value)

    def deduplicate(
        self,
        *,
        within: timedelta,
        id: Callable[[K, V], I | None] | None = None,
        id_type: As[I] | None = None,
        per_key: bool = False,
        grace: timedelta | None = None,
        store: Store[Any, Any] | None = None,
        name: str | None = None,
    ) -> KStream[K, V]:
        """Drop a record when one with the same key, or the same `id(key, value)`, has passed whose timestamp is at
        most `within` away, earlier or later. Records without a key, or whose id is None, always pass.

        What has passed is remembered for `within` + `grace` of stream time (`grace` is as long as `within` unless
        given), so that records up to `grace` out of order are judged exactly. By id, the records are repartitioned so
        that equal ids come together whatever their keys are; with `per_key=True` an id counts under its key only, and
        the records stay where they are.

        >>> from headrace import StreamsBuilder
        >>> from headrace.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> orders = builder.stream("orders", value=dict)
        >>> orders.deduplicate(within=timedelta(hours=1), id=lambda key, order: order["id"]).to("once")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     for order in (1, 2, 1):
        ...         driver.input("orders").pipe("a", {"id": order}, timestamp=0)
        ...     driver.output("once", value=dict).read_values()
        [{'id': 1}, {'id': 2}]
        """
        origin = caller()
        within_ms = milliseconds(within, "within")
        grace_ms = within_ms if grace is None else milliseconds(grace, "grace", positive=False)
        if isinstance(store, Materialized) and any(
            given is not None for given in (store.key, store.value, store.ttl, store.max_entries)
        ):
            raise InvalidArgumentError(
                "what the store of `deduplicate` holds, and for how long, follows from `id_type`, `within` and "
                "`grace`: leave `key`, `value`, `ttl` and `max_entries` out of its `Materialized`",
                node=self._name,
                origin=origin,
            )
        if id is not None:
            check_callable(id, "deduplicate", "(key, value)")
        elif id_type is not None or per_key:
            what = "per_key" if per_key else "id_type"
            raise InvalidArgumentError(
                f"`{what}` says something about an id, but there is none: pass `id=`, or leave `{what}` out to go by "
                f"the key",
                node=self._name,
                origin=origin,
            )
        identity = self._key if id is None else form(id_type, hinted(hints.result(id), UNKNOWN))
        # An id of no known type is written with its type's name; keys are what the stream says.
        serde = identity.serde if id is None else identity.internal
        if per_key:
            serde = KeyAndIdSerde(self._key.serde, serde or TaggedSerde())
        chosen = choose_store(
            store, self._blueprint.namer, "KSTREAM-DEDUPLICATE-", key=Form(serde), value=Form(PassedSerde())
        )
        node_name = self._blueprint.name("KSTREAM-DEDUPLICATE-", name)
        everywhere = id is not None and not per_key
        partitioner = None
        if id is not None and not per_key:
            partitioner = _ById(id, serde or TaggedSerde())
        parent, sources = self._node, self._sources
        if everywhere or self._rekeyed:
            parent = add_repartition(
                self._blueprint,
                parent,
                chosen.name,
                key=self._key,
                value=self._value,
                partitioner=partitioner,
                optimizable=not everywhere,
                passes_null_keys=True,
            )
            sources = frozenset({self._blueprint.nodes[parent].name})
        node = Operation(
            name=node_name,
            parents=(parent,),
            origin=origin,
            operator=operators.Deduplicate(chosen.name, within_ms, id, per_key),
            stores=(chosen.spec("timestamped_key_value", ttl_ms=within_ms + grace_ms),),
        )
        return self._blueprint.make_stream(
            self._blueprint,
            self._blueprint.add(node),
            key=self._key,
            value=self._value,
            sources=sources,
            rekeyed=everywhere,
        )


class _ById:
    """Sends each record to the partition of its id; without one, to that of its key."""

    places_by_key = True
    """By the key of the store's row, which is the id."""

    def __init__(self, identity: Callable[[Any, Any], Any], serde: Serde[Any]) -> None:
        self._identity = identity
        self._serde = serde

    def __call__(self, topic: str, key: Any, value: Any, partitions: int) -> int | None:
        found = self._identity(key, value)
        return None if found is None else partition_for(self._serde.serialize(found), partitions)
