"""What the Processor API and the DSL accept, brought into one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.errors import InvalidArgumentError
from headrace.origin import Origin, caller
from headrace.processor import Processor
from headrace.serdes import Serde, serde_for
from headrace.topology.stores import StoreSpec


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def serde_of(given: Any) -> Serde[Any] | None:
    """A type's serde; None stays the configuration's default."""
    return None if given is None else serde_for(given)


def check_store(store: object) -> None:
    """Refuse a mere name where the store itself is needed."""
    if not isinstance(store, StoreSpec):
        raise InvalidArgumentError(
            f"`add_state_store` takes a store, got {store!r}: make one with `key_value_store(...)`",
            origin=caller(),
        )


def check_supplier(supplier: object, node: str, origin: Origin) -> None:
    """A processor has state: each task needs its own, so a supplier must be something to call."""
    if isinstance(supplier, Processor) or not callable(supplier):
        raise InvalidArgumentError(
            f"a processor is made anew for each task: pass its class or a function that returns one, got {supplier!r}",
            node=node,
            origin=origin,
        )


def check_offset_reset(offset_reset: str | None, origin: Origin) -> str | None:
    """Where to start in a topic that has no position yet."""
    if offset_reset not in {None, "earliest", "latest"}:
        raise InvalidArgumentError(
            f'`offset_reset` is "earliest" or "latest", got {offset_reset!r}', origin=origin
        )
    return offset_reset
