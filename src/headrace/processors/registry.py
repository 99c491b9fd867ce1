"""Which function compiles which operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from headrace.errors import TopologyError
from headrace.processors.context import NodeContext, Process
from headrace.topology.operators import Operator

O = TypeVar("O", bound=Operator)  # noqa: E741

_BUILDERS: dict[type[Operator], Callable[[Any, NodeContext], Process]] = {}


def implements(
    kind: type[O],
) -> Callable[[Callable[[O, NodeContext], Process]], Callable[[O, NodeContext], Process]]:
    """Registers the function that compiles an operator of this kind."""

    def register(builder: Callable[[O, NodeContext], Process]) -> Callable[[O, NodeContext], Process]:
        _BUILDERS[kind] = builder
        return builder

    return register


def build(operator: Operator, ctx: NodeContext) -> Process:
    """Compile an operator into the closure that a task calls for every record."""
    builder = _BUILDERS.get(type(operator))
    if builder is None:
        raise TopologyError(
            f"no processor is known for the operator `{type(operator).__name__}`",
            node=ctx.name,
            origin=ctx.origin,
        )
    return builder(operator, ctx)


def implemented() -> frozenset[type[Operator]]:
    """Every kind of operator that can be compiled."""
    return frozenset(_BUILDERS)
