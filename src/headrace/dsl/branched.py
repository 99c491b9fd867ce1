"""Splitting a stream: each record goes to the first branch whose predicate holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from headrace.dsl.graph import Operation
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.topology import operators
from headrace.topology.callbacks import check_callable
from headrace.topology.naming import check_name

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")

Chain: TypeAlias = "Callable[[KStream[K, V]], KStream[K, V] | None]"
"""What is done with a branch at once."""


class BranchedKStream(Generic[K, V]):
    """A stream while it is split. Made by `KStream.split`."""

    def __init__(self, stream: KStream[K, V], name: str | None) -> None:
        blueprint = stream._blueprint
        self._stream = stream
        self._name = blueprint.name("KSTREAM-BRANCH-", name)
        self._streams: dict[str, KStream[K, V]] = {}
        self._operator = operators.Branch((), ())
        self._splitter = blueprint.add(
            Operation(name=self._name, parents=(stream._node,), origin=caller(), operator=self._operator)
        )

    def branch(
        self,
        predicate: Callable[[K, V], object],
        *,
        chain: Chain[K, V] | None = None,
        name: str | None = None,
    ) -> BranchedKStream[K, V]:
        """Add a branch for the records for which the predicate holds and that no earlier branch took.

        `chain(stream)` goes on with the branch at once: the stream that it returns is the branch's in the result. If
        it returns None, the branch ends there and is not in the result.

        >>> from headrace import StreamsBuilder
        >>> splitting = StreamsBuilder().stream("orders", value=int).split(name="size-")
        >>> splitting.branch(lambda key, n: n > 100, name="large").no_default_branch()
        {'size-large': <KStream of `size-large`>}
        >>> splitting = StreamsBuilder().stream("orders", value=int).split(name="size-")
        >>> splitting.branch(lambda key, n: n > 100, chain=lambda large: large.to("large")).default_branch()
        {'size-0': <KStream of `size-0`>}
        """
        check_callable(predicate, "branch", "(key, value)")
        child = self._add(len(self._operator.predicates) + 1, name, chain)
        self._change(
            replace(
                self._operator,
                predicates=(*self._operator.predicates, predicate),
                children=(*self._operator.children, child),
            )
        )
        return self

    def default_branch(
        self,
        *,
        chain: Chain[K, V] | None = None,
        name: str | None = None,
    ) -> dict[str, KStream[K, V]]:
        """Add a branch for all other records, and return the branches by name.

        >>> from headrace import StreamsBuilder
        >>> splitting = StreamsBuilder().stream("orders", value=int).split(name="size-")
        >>> list(splitting.branch(lambda key, n: n > 100, name="large").default_branch())
        ['size-large', 'size-0']
        """
        self._change(replace(self._operator, default=self._add(0, name, chain)))
        return self._streams

    def no_default_branch(self) -> dict[str, KStream[K, V]]:
        """Drop all other records, and return the branches by name.

        >>> from headrace import StreamsBuilder
        >>> splitting = StreamsBuilder().stream("orders", value=int).split()
        >>> list(splitting.branch(lambda key, n: n > 100).no_default_branch())
        ['KSTREAM-BRANCH-00000000011']
        """
        return self._streams

    def _add(self, number: int, name: str | None, chain: Chain[K, V] | None) -> str:
        blueprint = self._stream._blueprint
        if name is not None:
            check_name(name, "name", caller())
        child = f"{self._name}{number if name is None else name}"
        blueprint.namer.node(child)
        node = Operation(
            name=child, parents=(self._splitter,), origin=caller(), operator=operators.PassThrough()
        )
        start = self._stream._after(node)
        branch: KStream[K, V] | None = start
        if chain is not None:
            check_callable(chain, "chain", "(stream)", node=child)
            branch = chain(start)
        if branch is not None:
            if not isinstance(branch, type(self._stream)):
                raise InvalidArgumentError(
                    f"`chain` returns the stream that the branch becomes, or None, got {branch!r}",
                    node=child,
                    origin=caller(),
                )
            self._streams[child] = branch
        return child

    def _change(self, operator: operators.Branch) -> None:
        self._operator = operator
        nodes = self._stream._blueprint.nodes
        node = nodes[self._splitter]
        if isinstance(node, Operation):
            nodes[self._splitter] = replace(node, operator=operator)
