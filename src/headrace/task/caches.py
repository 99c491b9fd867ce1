"""The record caches of a task's stores: in which order they are flushed, and what they must know of a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.processors.context import Process
from headrace.record import Headers
from headrace.state.cached import StoreCache
from headrace.task.position import Moment
from headrace.topology.nodes import Node, ProcessorNode


def caches_of(nodes: Iterable[Node], stores: Mapping[str, Any]) -> list[StoreCache]:
    """In the order of the nodes, so that what a flush sends on is flushed with the nodes behind."""
    found: dict[str, StoreCache] = {}
    for node in nodes:
        if isinstance(node, ProcessorNode):
            for name in node.stores:
                cache = getattr(stores.get(name), "cache", None)
                if cache is not None:
                    found.setdefault(name, cache)
    return list(found.values())


def remembering(process: Process, moment: Moment) -> Process:
    """For a node with a cached store: a flush goes back to the record that made an entry."""

    def remember(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        before = moment.time, moment.headers
        moment.time, moment.headers = timestamp, headers
        process(key, value, timestamp, headers)
        moment.time, moment.headers = before

    return remember
