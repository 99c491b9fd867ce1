"""Global tables: every host fills its own copy of the store with a small task over the table's topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from headrace.state import CustomStore, Store
from headrace.task.nodes import changed_by_its_topic_only
from headrace.topology.nodes import GlobalStoreNode, SubTopology


def global_sub_topology(node: GlobalStoreNode) -> SubTopology:
    """The source and processor of a global store, to be run by a `StreamTask` of its own."""
    return SubTopology(id=-1, nodes=(node.source, node.processor), stores=(node.store,))


@contextmanager
def writable(stores: Iterable[Store]) -> Iterator[None]:
    """Global stores of users' own may be written by their own processor only: while it is at work."""
    customs = [store for store in stores if isinstance(store, CustomStore)]
    for store in customs:
        store.refuse_writes(None)
    try:
        yield
    finally:
        protect(customs)


def protect(stores: Iterable[Store]) -> None:
    """Let global stores of users' own refuse to be written."""
    for store in stores:
        if isinstance(store, CustomStore):
            store.refuse_writes(changed_by_its_topic_only(store.name))
