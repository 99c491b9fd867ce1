"""What streams and tables have in common: a place in the logical graph and the forms of key and value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.dsl.forms import Form
from headrace.dsl.graph import Graph, LogicalNode, Repartition
from headrace.errors import OtherBuilderError
from headrace.origin import caller
from headrace.topology.naming import Namer, check_name, repartition_names
from headrace.topology.nodes import Partitioner

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class Blueprint:
    """The graph of one builder, while it grows."""

    make_stream: Callable[..., KStream[Any, Any]]
    """The class of streams: tables make streams and streams make tables, so one of them has to be handed in."""
    namer: Namer = field(default_factory=Namer)
    nodes: dict[int, LogicalNode] = field(default_factory=dict)
    _priority: int = 0

    def name(self, prefix: str, given: str | None) -> str:
        """The name of the next node."""
        if given is not None:
            check_name(given, "name", caller())
        return self.namer.node(prefix, given)

    def add(self, node: LogicalNode) -> int:
        """Add a node and return its number."""
        number = len(self.nodes)
        self.nodes[number] = replace(node, id=number, priority=self._priority)
        self._priority += 1
        return number

    def add_again(self, number: int) -> None:
        """A node got another child later: it is written at that place, as in Kafka Streams."""
        self.nodes[number] = replace(self.nodes[number], priority=self._priority)
        self._priority += 1

    def graph(self) -> Graph:
        """The graph as it is now."""
        return Graph(dict(self.nodes), self.namer.count)


class Handle(Generic[K, V]):
    """A stream or table while the topology is built."""

    def __init__(
        self, blueprint: Blueprint, node: int, *, key: Form, value: Form, sources: frozenset[str]
    ) -> None:
        self._blueprint = blueprint
        self._node = node
        self._key = key
        self._value = value
        self._sources = sources

    @property
    def _name(self) -> str:
        return self._blueprint.nodes[self._node].name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of `{self._name}`>"

    def _check_same_builder(self, other: Blueprint) -> None:
        if other is not self._blueprint:
            raise OtherBuilderError(
                "both sides must come from the same `StreamsBuilder`, got two: make them with one builder",
                node=self._name,
                origin=caller(),
            )


def add_repartition(
    blueprint: Blueprint,
    parent: int,
    base: str,
    *,
    key: Form,
    value: Form,
    reuse: int | None = None,
    partitioner: Partitioner | None = None,
    partitions: int | None = None,
    optimizable: bool = True,
    passes_null_keys: bool = False,
) -> int:
    """Add a way through an internal topic, or use the given one again; names are used up in both cases."""
    names = repartition_names(blueprint.namer, base)
    if reuse is not None:
        return reuse
    return blueprint.add(
        Repartition(
            name=names.source,
            parents=(parent,),
            origin=caller(),
            names=names,
            key=key.serde,
            value=value.internal,
            partitioner=partitioner,
            partitions=partitions,
            optimizable=optimizable,
            passes_null_keys=passes_null_keys,
        )
    )
