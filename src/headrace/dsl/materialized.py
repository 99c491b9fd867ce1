"""`Materialized`: how the state of an aggregate or table is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeAlias, TypeVar

from headrace.dsl.forms import As, Form, form
from headrace.errors import InvalidArgumentError
from headrace.origin import Origin, caller
from headrace.processor import PunctuationType
from headrace.topology.naming import Namer, check_name
from headrace.topology.stores import StoreKind, StoreSpec, check_max_entries
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
    ttl: timedelta | None = field(default=None, kw_only=True)
    """Without windows: how long a row lives after its timestamp. A row that runs out is deleted, also downstream."""
    ttl_clock: PunctuationType = field(default=PunctuationType.STREAM_TIME, kw_only=True)
    """What tells how late it is: the records that reach the table and what reads it, or the wall clock as well."""
    max_entries: int | None = field(default=None, kw_only=True)
    """Without windows: how many rows there may be; the one that was used longest ago makes room for a new one."""


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

    def spec(
        self,
        kind: StoreKind,
        *,
        least_retention_ms: int = 0,
        window_size_ms: int = 0,
        ttl_ms: int | None = None,
    ) -> StoreSpec:
        """The store itself. `ttl_ms` is given where the operation decides how long rows live."""
        settings = self.settings
        if ttl_ms is None:
            ttl_ms = self._ttl_ms(kind)
        if ttl_ms and settings.caching:
            raise self._refused(
                "a store whose rows run out cannot have a cache in front, which would hide that they do: leave "
                "`caching` out"
            )
        retention_ms = least_retention_ms
        if settings.retention is not None and least_retention_ms:
            retention_ms = milliseconds(settings.retention, "retention")
            if retention_ms < least_retention_ms:
                raise self._refused(
                    f"`retention` must not be shorter than the window and its grace "
                    f"({timedelta(milliseconds=least_retention_ms)}), got {settings.retention}"
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
            ttl_ms=ttl_ms,
            ttl_clock=settings.ttl_clock if ttl_ms else PunctuationType.STREAM_TIME,
            max_entries=self._max_entries(kind),
            origin=self.origin,
        )

    def _ttl_ms(self, kind: StoreKind) -> int:
        if self.settings.ttl is None:
            return 0
        if kind != "timestamped_key_value":
            raise self._refused(
                "`ttl` is for rows without windows and versions: windows are kept for their `retention`"
            )
        return milliseconds(self.settings.ttl, "ttl")

    def _refused(self, message: str) -> InvalidArgumentError:
        return InvalidArgumentError(message, node=self.name, origin=self.origin)

    def _max_entries(self, kind: StoreKind) -> int:
        most = check_max_entries(self.settings.max_entries, self.name)
        if most and kind != "timestamped_key_value":
            raise self._refused(
                "`max_entries` is for rows without windows and versions: windows are kept for their `retention`"
            )
        if most and self.settings.ttl is not None:
            raise self._refused("rows leave by `max_entries` or by `ttl`, not both: leave one of them out")
        return most


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
