"""A join of two streams in the logical graph: two buffers, two joining sides and a merge, named as in Kafka Streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.dsl.graph import Operation, StreamJoin
from headrace.dsl.handle import Blueprint
from headrace.dsl.materialized import Materialized, placed
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.serdes import Serde
from headrace.serdes.joined import JoinKeySerde, JoinValuesSerde
from headrace.topology.naming import check_name
from headrace.topology.operators import JoinBuffer, StreamStreamJoin
from headrace.topology.stores import StoreKind, StoreSpec
from headrace.windows import JoinWindows


def add_stream_join(
    blueprint: Blueprint,
    parents: tuple[int, int],
    operator: StreamStreamJoin,
    store: Materialized[Any, Any],
    name: str | None,
    *,
    key: Serde[Any] | None,
    values: tuple[Serde[Any] | None, Serde[Any] | None],
    right: bool,
    sources: frozenset[str],
) -> int:
    """Add the join and return its number. `operator` says how and whether it is a left one; `right` keeps both."""
    left, origin, windows = operator.outer, caller(), operator.windows
    _check_store(store)
    store = placed(store, blueprint.namer)
    buffers = (
        _name(blueprint, "KSTREAM-WINDOWED-", name, "-this-windowed"),
        _name(blueprint, "KSTREAM-WINDOWED-", name, "-other-windowed"),
    )
    this = blueprint.namer.node("KSTREAM-OUTERTHIS-" if right else "KSTREAM-JOINTHIS-")
    other = blueprint.namer.node("KSTREAM-OUTEROTHER-" if left else "KSTREAM-JOINOTHER-")
    this_suffix = "-outer-this-join" if right else "-this-join"
    other_suffix = "-outer-other-join" if left else "-other-join"
    merge = _name(blueprint, "KSTREAM-MERGE-", name, "-merge")
    this_store = _buffer(_store_name(store, this, this_suffix), store, windows, key, values[0])
    other_store = _buffer(_store_name(store, other, other_suffix), store, windows, key, values[1])
    shared = None
    if left:
        generated = f"KSTREAM-OUTERSHARED-{this.rpartition('-')[2]}"
        shared_name = _store_name(store, generated, f"-{'outer' if right else 'left'}-shared-join")
        shared = _spec(shared_name, "key_value", store, JoinKeySerde(key), JoinValuesSerde(*values))
    for parent, buffer, spec in zip(parents, buffers, (this_store, other_store), strict=True):
        put = JoinBuffer(spec.name)
        blueprint.add(Operation(name=buffer, parents=(parent,), origin=origin, operator=put))
    common = replace(operator, shared=None if shared is None else shared.name, clock=merge)
    return blueprint.add(
        StreamJoin(
            name=merge,
            parents=parents,
            origin=origin,
            sides=(
                this if name is None else name + this_suffix,
                other if name is None else name + other_suffix,
            ),
            buffers=buffers,
            operators=(
                replace(common, store=other_store.name),
                replace(common, store=this_store.name, is_left=False, outer=right),
            ),
            stores=(this_store, other_store),
            shared=shared,
            keeps_null_keys=left,
            joined_sources=sources,
        )
    )


def _name(blueprint: Blueprint, prefix: str, given: str | None, suffix: str) -> str:
    """A generated name, or the given one with a suffix; a number is used up in both cases."""
    return blueprint.name(prefix, None if given is None else given + suffix)


def _store_name(store: Materialized[Any, Any], generated: str, suffix: str) -> str:
    return f"{generated if store.name is None else store.name + suffix}-store"


def _buffer(
    name: str,
    store: Materialized[Any, Any],
    windows: JoinWindows,
    key: Serde[Any] | None,
    value: Serde[Any] | None,
) -> StoreSpec:
    return replace(
        _spec(name, "window", store, key, value),
        # Every record is kept, so there is nothing to compact: the changelog forgets by time alone.
        log_config=tuple(sorted({**store.log_config, "cleanup.policy": "delete"}.items())),
        retention_ms=windows.retention_ms,
        window_size_ms=windows.size_ms,
        retain_duplicates=True,
    )


def _spec(
    name: str,
    kind: StoreKind,
    store: Materialized[Any, Any],
    key: Serde[Any] | None,
    value: Serde[Any] | None,
) -> StoreSpec:
    return StoreSpec(
        name,
        kind,
        key,
        value,
        bool(store.persistent),
        store.logging,
        tuple(sorted(store.log_config.items())),
        origin=caller(),
    )


def _check_store(store: Materialized[Any, Any]) -> None:
    if store.name is not None:
        check_name(store.name, "store", caller())
    for setting in ("retention", "caching", "history_retention", "segment_interval"):
        if not getattr(store, setting):
            continue
        raise InvalidArgumentError(
            f"`{setting}` is not for joins: a join keeps its records "
            f"for the size of its windows and their grace, and never caches",
            node=store.name,
            origin=caller(),
        )
