"""How a foreign-key join becomes nodes: two ways through internal topics, there and back."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from headrace.dsl import hints
from headrace.dsl.forms import As, form, hinted
from headrace.dsl.graph import ChangeRepartition, Operation, StreamTable
from headrace.dsl.materialized import Store, choose_store
from headrace.dsl.old_values import send_old_values
from headrace.dsl.table_handle import TableHandle
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.serdes import Serdes
from headrace.serdes.foreign_key import Answer, AnswerSerde, SubscriptionSerde
from headrace.topology import foreign_key as operators
from headrace.topology.callbacks import check_callable
from headrace.topology.nodes import Partitioner
from headrace.topology.stores import StoreSpec

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable

_REGISTRATION = "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-"
_RESPONSE = "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-"
_PROCESSOR = "KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-"
_OUTPUT = "KTABLE-FK-JOIN-OUTPUT-"
_TOPIC_SUFFIX = "-topic"


@dataclass(frozen=True, slots=True)
class ByKey:
    """A user's partitioner, which sees the key alone: what is written is the library's own."""

    partitioner: Partitioner

    def __call__(self, topic: str, key: Any, value: Any, partitions: int) -> int | None:
        chosen = self.partitioner(topic, key, None, partitions)
        if isinstance(chosen, Set):
            raise InvalidArgumentError(
                f"the partitioner of a foreign-key join chose {set(chosen)}: a row is in one partition, so return a "
                "number"
            )
        return chosen


class BackHome:
    """An answer goes to the partition that has asked, whatever partitioner had put the row there."""

    places_by_key = True
    """Unless the user's own partitioner had put it there: then it is not this one."""

    def __call__(self, topic: str, key: Any, answer: Answer, partitions: int) -> int | None:
        return answer.partition


back_home = BackHome()


def join_by_foreign_key(
    this: TableHandle[Any, Any],
    other: TableHandle[Any, Any],
    on: Callable[[Any, Any], Any],
    join: Callable[..., Any],
    value: As[Any] | None,
    with_key: bool,
    store: Store[Any, Any] | None,
    name: str | None,
    partitioner: Partitioner | None,
    other_partitioner: Partitioner | None,
    *,
    left: bool,
) -> KTable[Any, Any]:
    """Add the join's nodes. Names are taken, and tables asked for old values and rows, in Kafka Streams' order."""
    check_callable(on, "on", "(key, value) that returns a key of the other table")
    for given, what in ((partitioner, "partitioner"), (other_partitioner, "other_partitioner")):
        if given is not None:
            check_callable(given, what, "(topic, key, value, number of partitions); the value is None")
    blueprint, origin = this._blueprint, caller()
    send_old_values(blueprint, other._node)
    send_old_values(blueprint, this._node)

    def named(suffix: str, prefix: str) -> str:
        return blueprint.name(prefix, None if name is None else f"{name}-{suffix}")

    key, foreign_key, row = this._key.serde, other._key.serde, this._value.internal
    registration = named("subscription-registration", _REGISTRATION) + _TOPIC_SUFFIX
    subscribe = blueprint.add(
        Operation(
            name=named("subscription-registration-processor", _REGISTRATION),
            parents=(this._node,),
            origin=origin,
            operator=operators.Subscribe(on, left, foreign_key, row, key),
        )
    )
    to_other = ChangeRepartition(
        sink=named("subscription-registration-sink", "KTABLE-SINK-"),
        name=named("subscription-registration-source", "KTABLE-SOURCE-"),
        parents=(subscribe,),
        origin=origin,
        topic=registration,
        key=foreign_key,
        value=SubscriptionSerde(key),
        partitioner=None if other_partitioner is None else ByKey(other_partitioner),
        ahead=True,
    )
    asked = blueprint.add(to_other)
    subscriptions = StoreSpec(
        named("subscription-store", "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-"),
        "timestamped_key_value",
        Serdes.bytes(),
        SubscriptionSerde(key),
        origin=origin,
    )
    kept = blueprint.add(
        Operation(
            name=named("subscription-receive", _PROCESSOR),
            parents=(asked,),
            origin=origin,
            operator=operators.KeepSubscription(subscriptions.name, foreign_key, key),
            stores=(subscriptions,),
            joined_sources=other._sources | {to_other.name},
        )
    )
    other_rows = other._rows()
    answered = blueprint.add(
        Operation(
            name=named("subscription-join-foreign", _PROCESSOR),
            parents=(kept,),
            origin=origin,
            operator=operators.AnswerSubscription(other_rows),
            reads=other_rows.stores,
        )
    )
    changed = blueprint.add(
        Operation(
            name=named("foreign-join-subscription", _PROCESSOR),
            parents=(other._node,),
            origin=origin,
            operator=operators.AnswerSubscribers(subscriptions.name, foreign_key),
            stores=(subscriptions,),
        )
    )
    response = named("subscription-response", _RESPONSE) + _TOPIC_SUFFIX
    back = ChangeRepartition(
        sink=named("subscription-response-sink", "KTABLE-SINK-"),
        name=named("subscription-response-source", "KTABLE-SOURCE-"),
        parents=(answered, changed),
        origin=origin,
        topic=response,
        key=key,
        value=AnswerSerde(other._value.internal),
        partitioner=back_home if partitioner is None else ByKey(partitioner),
        ahead=True,
    )
    answers, sources, rows = blueprint.add(back), this._sources | {back.name}, this._rows()
    joined = blueprint.add(
        Operation(
            name=named("subscription-response-resolver", f"{_RESPONSE}RESOLVER-PROCESSOR-"),
            parents=(answers,),
            origin=origin,
            operator=operators.JoinAnswer(rows, join, left, row, with_key),
            reads=rows.stores,
            joined_sources=sources,
        )
    )
    result = named("result", _OUTPUT)
    chosen = choose_store(
        store, blueprint.namer, _OUTPUT, key=this._key, value=form(value, hinted(hints.result(join)))
    )
    node = StreamTable(
        name=result,
        parents=(joined,),
        origin=origin,
        store=chosen.spec("timestamped_key_value"),
        materialized=chosen.queryable,
    )
    return cast("type[KTable[Any, Any]]", type(this))(
        blueprint,
        blueprint.add(node),
        key=chosen.key,
        value=chosen.value,
        sources=sources,
        store=chosen.name,
        queryable=chosen.queryable,
    )
