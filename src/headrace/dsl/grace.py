"""Where a stream's records wait for the table they are joined with (KIP-923)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headrace.dsl.forms import Form
from headrace.dsl.graph import Operation, StateStore, StreamTable, TableSource
from headrace.dsl.handle import Blueprint
from headrace.dsl.versioned import is_versioned
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.topology.stores import StoreSpec
from headrace.topology.views import TableView


def grace_buffer(
    blueprint: Blueprint, table: int, rows: TableView, grace_ms: int, node: str, key: Form, value: Form
) -> StoreSpec:
    """The store of the records that wait; the table must know its rows as far back as they do."""
    origin = caller()
    if not is_versioned(blueprint.nodes, table):
        raise InvalidArgumentError(
            f"`grace` needs a versioned table, and `{blueprint.nodes[table].name}` is not: a record that has waited is "
            "joined with the row of its own time; give the table "
            '`store=Materialized("...", history_retention=...)`, or leave `grace` out',
            node=node,
            origin=origin,
        )
    for spec in _stores(blueprint):
        if spec.name in rows.stores and spec.kind == "versioned" and spec.retention_ms < grace_ms:
            raise InvalidArgumentError(
                f"`grace` must not be longer than the history of the table, got {timedelta(milliseconds=grace_ms)}, "
                f"and the store `{spec.name}` has a `history_retention` of {timedelta(milliseconds=spec.retention_ms)}",
                node=node,
                origin=origin,
            )
    return StoreSpec(f"{node}-Buffer", "grace_buffer", key.serde, value.internal, origin=origin)


def _stores(blueprint: Blueprint) -> Iterator[StoreSpec]:
    for node in blueprint.nodes.values():
        if isinstance(node, StreamTable | TableSource | StateStore):
            yield node.store
        elif isinstance(node, Operation):
            yield from node.stores
