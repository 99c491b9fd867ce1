"""What the Processor API and the DSL accept, brought into one form."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.errors import InvalidArgumentError
from headrace.offset_reset import ALLOWED, OffsetReset, is_offset_reset
from headrace.origin import Origin, caller
from headrace.processor import Processor
from headrace.serdes import Serde, serde_for
from headrace.topology.callbacks import check_supplied
from headrace.topology.naming import is_legal
from headrace.topology.stores import StoreSpec


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def serde_of(given: Any) -> Serde[Any] | None:
    """A type's serde; None stays the configuration's default."""
    return None if given is None else serde_for(given)


def check_store(store: object, what: str = "add_state_store") -> None:
    """Refuse a mere name where the store itself is needed."""
    if not isinstance(store, StoreSpec):
        raise InvalidArgumentError(
            f"`{what}` takes a store, got {store!r}: make one with `key_value_store(...)`",
            origin=caller(),
        )


def check_supplier(
    supplier: object, node: str, origin: Origin, kind: type[Any] = Processor, what: str = "processor"
) -> None:
    """A processor has state: each task needs its own, so a supplier must be something to call."""
    check_supplied(supplier, kind, what, node, origin)


def check_stores(stores: object, node: str, origin: Origin) -> tuple[str | StoreSpec, ...]:
    """Stores of a processor: names, or stores made in place."""
    if isinstance(stores, str | StoreSpec):
        raise InvalidArgumentError(
            f"`stores` takes a list, got {stores!r}: write `stores=[...]` around it", node=node, origin=origin
        )
    found = tuple(stores) if isinstance(stores, Iterable) else (stores,)
    for store in found:
        if not isinstance(store, str | StoreSpec):
            raise InvalidArgumentError(
                f"`stores` takes names, or stores made with `key_value_store(...)` and the like, got {store!r}",
                node=node,
                origin=origin,
            )
    return found


def stores_of(supplier: object, stores: object, node: str, origin: Origin) -> tuple[str | StoreSpec, ...]:
    """The stores of a processor: those that are given, and those that it brings with it (`Processor.stores`)."""
    given = check_stores(stores, node, origin)
    provide = getattr(supplier, "stores", None)
    if not callable(provide) or (isinstance(supplier, type) and not inspect.ismethod(provide)):
        return given
    brought = check_stores(provide(), node, origin)
    names = {store.name if isinstance(store, StoreSpec) else store for store in given}
    return (*given, *(s for s in brought if (s.name if isinstance(s, StoreSpec) else s) not in names))


def topics_of(topics: object, origin: Origin) -> tuple[str, ...]:
    """One topic or several, each with a name that Kafka takes."""
    if isinstance(topics, str):
        return (check_topic(topics, origin),)
    if not isinstance(topics, Iterable):
        raise InvalidArgumentError(
            f"topics are named by a text, a list of them or a compiled pattern, got {topics!r}", origin=origin
        )
    return tuple(check_topic(topic, origin) for topic in topics)


def check_topic(topic: object, origin: Origin) -> str:
    """The name of one topic."""
    if not isinstance(topic, str) or not is_legal(topic):
        raise InvalidArgumentError(
            f"a topic's name is a text of 1 to 249 letters, digits, `.`, `_` and `-`, got {topic!r}",
            origin=origin,
        )
    return topic


def check_offset_reset(offset_reset: OffsetReset | None, origin: Origin) -> OffsetReset | None:
    """Where to start in a topic that has no position yet."""
    if offset_reset is not None and not is_offset_reset(offset_reset):
        raise InvalidArgumentError(f"`offset_reset` is {ALLOWED}, got {offset_reset!r}", origin=origin)
    return offset_reset
