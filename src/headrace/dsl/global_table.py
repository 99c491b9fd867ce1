"""`GlobalKTable`: a table that every host has whole."""

from __future__ import annotations

from typing import Generic, TypeVar

from headrace.dsl.handle import Blueprint
from headrace.topology.nodes import GlobalStoreNode

K = TypeVar("K")
V = TypeVar("V")


class GlobalKTable(Generic[K, V]):
    """A table that every host has whole, so that a stream can be joined with it by any key.

    >>> from headrace import StreamsBuilder
    >>> StreamsBuilder().global_table("risk-scores", value=int, store="risk").queryable_store_name
    'risk'
    """

    def __init__(self, blueprint: Blueprint, node: GlobalStoreNode, *, queryable: bool) -> None:
        self._blueprint = blueprint
        self._node = node
        self._queryable = queryable

    @property
    def queryable_store_name(self) -> str | None:
        """The store to ask for rows; None when it was given no name.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().global_table("risk-scores", value=int).queryable_store_name
        """
        return self._node.store.name if self._queryable else None

    def __repr__(self) -> str:
        return f"<GlobalKTable of `{self._node.processor.name}`>"
