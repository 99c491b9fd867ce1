"""What a table is asked for by what is built behind it: its rows, and the old value in each of its changes.

Kafka Streams asks while the topology is built, so the order of the calls matters: a filter takes old values from a
table that is already kept in a store, and does without when the store comes later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.dsl.graph import Operation, StreamTable, TableSource
from headrace.dsl.handle import Blueprint
from headrace.topology import operators


def keep_rows(blueprint: Blueprint, stores: Iterable[str]) -> None:
    """Somebody reads these stores: tables of topics and streams that have no store yet get theirs."""
    wanted = set(stores)
    for number, node in blueprint.nodes.items():
        if isinstance(node, StreamTable | TableSource) and node.store.name in wanted:
            blueprint.nodes[number] = replace(node, materialized=True)


def send_old_values(blueprint: Blueprint, number: int, *, force: bool = True) -> bool:
    """Ask a table for old values; without `force` nothing is put into a store. Returns whether it sends them."""
    node = blueprint.nodes[number]
    if isinstance(node, StreamTable | TableSource):
        if not force and not node.materialized:
            return False
        blueprint.nodes[number] = replace(node, materialized=True, sends_old_values=True)
        return True
    assert isinstance(node, Operation)
    operator = node.operator
    if isinstance(
        operator, operators.TableFilter | operators.TableMapValues | operators.TableTransformValues
    ):
        if operator.store is None and not send_old_values(blueprint, node.parents[0], force=force):
            return node.sends_old_values
    elif isinstance(operator, operators.TableTableJoin | operators.TableJoinMerge | operators.PassThrough):
        # Both sides of a join have to work the old result out; a cogroup's aggregates have it.
        for parent in node.parents:
            send_old_values(blueprint, parent)
    blueprint.nodes[number] = replace(node, sends_old_values=True)
    return True
