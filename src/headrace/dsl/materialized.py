"""`Materialized`: how the state of an aggregate or table is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeAlias, TypeVar

from headrace.dsl.forms import As, Form, form
from headrace.errors import InvalidArgumentError
from headrace.origin import Origin, caller
from headrace.topology.naming import Namer, check_name
from headrace.topology.stores import StoreKind, StoreSpec
from headrace.windows import milliseconds

K = TypeVar("K")
V = TypeVar("V")


# No slots: with them Python 3.11 cannot make `Materialized[str, int](…)`.
@dataclass(frozen=True)
class Materialized(Generic[K, V]):
    """A store's name and settings. `store="counts"` is short for `store=Materialized("counts")`.

    Without a name the store gets a generated one and cannot be queried.

    >>> Materialized("counts", persistent=False).name
    'counts'
    """

    name: str | None = None
    key: As[K] | None = field(default=None, kw_only=True)
    value: As[V] | None = field(default=None, kw_only=True)
    persistent: bool = field(default=True, kw_only=True)
    logging: bool = field(default=True, kw_only=True)
    log_config: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    caching: bool = field(default=False, kw_only=True)
    retention: timedelta | None = field(default=None, kw_only=True)
    """Windows and sessions: how long they are kept; by default the size (or gap) and the grace."""


Store: TypeAlias = str | Materialized[K, V]
"""What `store=` takes."""


@dataclass(frozen=True, slots=True)
class StoreChoice:
    """A user's `store=`, with a name in any case."""

    name: str
    queryable: bool
    settings: Materialized[Any, Any]
    key: Form
    value: Form
    origin: Origin

    def spec(self, kind: StoreKind, *, least_retention_ms: int = 0, window_size_ms: int = 0) -> StoreSpec:
        """The store itself."""
        settings = self.settings
        retention_ms = least_retention_ms
        if settings.retention is not None and least_retention_ms:
            retention_ms = milliseconds(settings.retention, "retention")
            if retention_ms < least_retention_ms:
                raise InvalidArgumentError(
                    f"`retention` must not be shorter than the window and its grace "
                    f"({timedelta(milliseconds=least_retention_ms)}), got {settings.retention}",
                    node=self.name,
                    origin=self.origin,
                )
        return StoreSpec(
            self.name,
            kind,
            self.key.serde,
            self.value.internal,
            settings.persistent,
            settings.logging,
            tuple(sorted(settings.log_config.items())),
            settings.caching,
            retention_ms,
            window_size_ms,
            origin=self.origin,
        )


def choose_store(
    store: str | Materialized[K, V] | None, namer: Namer, prefix: str, *, key: Form, value: Form
) -> StoreChoice:
    """Read `store=`; a store without a name takes the next generated one."""
    origin = caller()
    settings: Materialized[Any, Any] = store if isinstance(store, Materialized) else Materialized(store)
    if settings.name is not None:
        check_name(settings.name, "store", origin)
    return StoreChoice(
        settings.name or namer.store(prefix),
        settings.name is not None,
        settings,
        form(settings.key, key),
        form(settings.value, value),
        origin,
    )
