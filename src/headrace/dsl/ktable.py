"""`KTable`: the latest value per key, and its changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from headrace.dsl.forms import As, Form
from headrace.dsl.graph import Operation
from headrace.dsl.handle import Blueprint, Handle
from headrace.origin import caller
from headrace.topology import operators

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")


class KTable(Handle[K, V]):
    """A table: the latest value of each key. Made by `StreamsBuilder.table` and by aggregations.

    >>> from headrace import StreamsBuilder
    >>> StreamsBuilder().table("users", value=dict, store="users-store")
    <KTable of `KTABLE-SOURCE-0000000001`>
    """

    def __init__(
        self,
        blueprint: Blueprint,
        node: int,
        *,
        key: Form,
        value: Form,
        sources: frozenset[str],
        store: str,
        queryable: bool,
    ) -> None:
        super().__init__(blueprint, node, key=key, value=value, sources=sources)
        self._store = store
        self._queryable = queryable

    @property
    def queryable_store_name(self) -> str | None:
        """The store to ask for rows; None when it was given no name.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().table("users", value=dict).queryable_store_name
        """
        return self._store if self._queryable else None

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
