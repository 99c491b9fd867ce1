"""The stateless operations of a stream: one record in, none, one or more out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from headrace.dsl import hints
from headrace.dsl.forms import As, Form, common, form, hinted
from headrace.dsl.graph import Operation
from headrace.dsl.handle import Blueprint, Handle
from headrace.dsl.printing import Printer
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.topology import operators
from headrace.topology.callbacks import check_callable
from headrace.topology.operators import Operator

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")


class StatelessOperations(Handle[K, V]):
    """What a `KStream` can do without state."""

    def __init__(
        self,
        blueprint: Blueprint,
        node: int,
        *,
        key: Form,
        value: Form,
        sources: frozenset[str],
        rekeyed: bool = False,
    ) -> None:
        super().__init__(blueprint, node, key=key, value=value, sources=sources)
        self._rekeyed = rekeyed
        """The key has changed since the last topic: what needs equal keys in one place must repartition first."""

    def filter(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Keep the records for which the predicate holds.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("orders", value=int).filter(lambda key, amount: amount > 100)
        <KStream of `KSTREAM-FILTER-0000000001`>
        """
        check_callable(predicate, "filter", "(key, value)")
        return self._then("KSTREAM-FILTER-", operators.Filter(predicate), name)

    def filter_not(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Drop the records for which the predicate holds.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("orders", value=int).filter_not(
        ...     lambda key, amount: amount < 0, name="valid"
        ... )
        <KStream of `valid`>
        """
        check_callable(predicate, "filter_not", "(key, value)")
        return self._then("KSTREAM-FILTER-", operators.Filter(predicate, negate=True), name)

    def select_key(
        self, mapper: Callable[[K, V], K2], *, key: As[K2] | None = None, name: str | None = None
    ) -> KStream[K2, V]:
        """Give each record a new key. The next aggregation or join repartitions by it.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("words", value=str).select_key(lambda key, word: word[0])
        <KStream of `KSTREAM-KEY-SELECT-0000000001`>
        """
        check_callable(mapper, "select_key", "(key, value)")
        new_key = form(key, hinted(hints.result(mapper)))
        return self._then("KSTREAM-KEY-SELECT-", operators.SelectKey(mapper), name, key=new_key, rekeyed=True)

    def map(
        self,
        mapper: Callable[[K, V], tuple[K2, V2]],
        *,
        key: As[K2] | None = None,
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K2, V2]:
        """Turn each record into a new key and value.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("words", value=str).map(lambda key, word: (word, len(word)), value=int)
        <KStream of `KSTREAM-MAP-0000000001`>
        """
        check_callable(mapper, "map", "(key, value) that returns (key, value)")
        outputs = hints.pair(hints.result(mapper))
        return self._then(
            "KSTREAM-MAP-",
            operators.Map(mapper),
            name,
            key=form(key, hinted(outputs[0])),
            value=form(value, hinted(outputs[1])),
            rekeyed=True,
        )

    def flat_map(
        self,
        mapper: Callable[[K, V], Iterable[tuple[K2, V2]]],
        *,
        key: As[K2] | None = None,
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K2, V2]:
        """Turn each record into any number of keys and values.

        >>> from headrace import StreamsBuilder
        >>> lines = StreamsBuilder().stream("lines", value=str)
        >>> lines.flat_map(lambda key, line: [(word, 1) for word in line.split()], value=int)
        <KStream of `KSTREAM-FLATMAP-0000000001`>
        """
        check_callable(mapper, "flat_map", "(key, value) that returns pairs")
        outputs = hints.pair(hints.element(hints.result(mapper)))
        return self._then(
            "KSTREAM-FLATMAP-",
            operators.FlatMap(mapper),
            name,
            key=form(key, hinted(outputs[0])),
            value=form(value, hinted(outputs[1])),
            rekeyed=True,
        )

    @overload
    def map_values(
        self,
        mapper: Callable[[V], V2],
        *,
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def map_values(
        self,
        mapper: Callable[[K, V], V2],
        *,
        with_key: Literal[True],
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def map_values(
        self,
        mapper: Callable[..., V2],
        *,
        value: As[V2] | None = None,
        with_key: bool = False,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Turn each value into another; the key stays, so nothing has to be repartitioned.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("words", value=str).map_values(len, value=int)
        <KStream of `KSTREAM-MAPVALUES-0000000001`>
        """
        check_callable(mapper, "map_values", "(key, value)" if with_key else "(value)")
        new_value = form(value, hinted(hints.result(mapper)))
        operator = operators.MapValues(mapper, with_key)
        return self._then("KSTREAM-MAPVALUES-", operator, name, value=new_value)

    @overload
    def flat_map_values(
        self,
        mapper: Callable[[V], Iterable[V2]],
        *,
        value: As[V2] | None = None,
        with_key: Literal[False] = False,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def flat_map_values(
        self,
        mapper: Callable[[K, V], Iterable[V2]],
        *,
        with_key: Literal[True],
        value: As[V2] | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def flat_map_values(
        self,
        mapper: Callable[..., Iterable[V2]],
        *,
        value: As[V2] | None = None,
        with_key: bool = False,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Turn each value into any number of values; the key stays.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("lines", value=str).flat_map_values(str.split, value=str)
        <KStream of `KSTREAM-FLATMAPVALUES-0000000001`>
        """
        check_callable(mapper, "flat_map_values", "(key, value)" if with_key else "(value)")
        new_value = form(value, hinted(hints.element(hints.result(mapper))))
        operator = operators.FlatMapValues(mapper, with_key)
        return self._then("KSTREAM-FLATMAPVALUES-", operator, name, value=new_value)

    def peek(self, action: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Call the action for each record and pass the record on. It may run again after a failure.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("orders", value=int).peek(lambda key, amount: print(key, amount))
        <KStream of `KSTREAM-PEEK-0000000001`>
        """
        check_callable(action, "peek", "(key, value)")
        return self._then("KSTREAM-PEEK-", operators.Peek(action), name)

    def foreach(self, action: Callable[[K, V], object], *, name: str | None = None) -> None:
        """Call the action for each record; the stream ends here. It may run again after a failure.

        >>> from headrace import StreamsBuilder
        >>> StreamsBuilder().stream("orders", value=int).foreach(lambda key, amount: print(key, amount))
        """
        check_callable(action, "foreach", "(key, value)")
        self._then("KSTREAM-FOREACH-", operators.Peek(action, forward=False), name)

    def print(
        self,
        *,
        label: str | None = None,
        mapper: Callable[[K, V], object] | None = None,
        file: str | Path | None = None,
        name: str | None = None,
    ) -> None:
        """Print each record as `[label]: key, value`, or what the mapper makes of it; the stream ends here.

        On Spark it comes out where the application was started, after the commit, marked with the task and the record.
        With `file`, lines are added to that file on the host where the task runs, and not printed: for a look while
        developing, since a batch that is tried again adds them again.

        >>> from headrace import StreamsBuilder
        >>> orders = StreamsBuilder().stream("orders", value=int)
        >>> orders.print(label="orders", mapper=lambda key, amount: f"{key} spends {amount}")
        """
        if mapper is not None:
            check_callable(mapper, "print", "(key, value)")
        action = Printer(self._name if label is None else label, mapper, None if file is None else Path(file))
        self._then("KSTREAM-PRINTER-", operators.Peek(action, forward=False), name)

    def merge(self, other: KStream[K, V], *, name: str | None = None) -> KStream[K, V]:
        """One stream of the records of two, in no particular order between them.

        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> builder.stream("web", value=str).merge(builder.stream("shop", value=str))
        <KStream of `KSTREAM-MERGE-0000000002`>
        """
        if not isinstance(other, StatelessOperations):
            raise InvalidArgumentError(
                f"a stream is merged with a `KStream`, got {other!r}: a table has `to_stream()`",
                node=self._name,
                origin=caller(),
            )
        self._check_same_builder(other._blueprint)
        value = common(self._value, other._value)
        node = Operation(
            name=self._blueprint.name("KSTREAM-MERGE-", name),
            parents=tuple(dict.fromkeys((self._node, other._node))),
            origin=caller(),
            operator=operators.PassThrough(),
            merges=True,
            written=value.internal,
        )
        return self._blueprint.make_stream(
            self._blueprint,
            self._blueprint.add(node),
            key=common(self._key, other._key),
            value=value,
            sources=self._sources | other._sources,
            rekeyed=self._rekeyed or other._rekeyed,
        )

    def _then(
        self,
        prefix: str,
        operator: Operator,
        name: str | None,
        *,
        key: Form | None = None,
        value: Form | None = None,
        rekeyed: bool = False,
    ) -> KStream[Any, Any]:
        """Add an operator behind this stream."""
        node = Operation(
            name=self._blueprint.name(prefix, name),
            parents=(self._node,),
            origin=caller(),
            operator=operator,
            changes_key=rekeyed,
            changes_value=value is not None,
            written=(value or self._value).internal,
        )
        return self._after(node, key=key, value=value, rekeyed=rekeyed)

    def _after(
        self, node: Operation, *, key: Form | None = None, value: Form | None = None, rekeyed: bool = False
    ) -> KStream[Any, Any]:
        """The stream behind a new node; what is not said stays as it is here."""
        return self._blueprint.make_stream(
            self._blueprint,
            self._blueprint.add(node),
            key=key or self._key,
            value=value or self._value,
            sources=self._sources,
            rekeyed=rekeyed or self._rekeyed,
        )
