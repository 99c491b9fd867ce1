"""`Materialized`: how the state of an aggregate or table is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Generic, TypeAlias, TypeVar

from headrace.dsl.forms import As, Form, form
from headrace.errors import InvalidArgumentError
from headrace.origin import Origin, caller
from headrace.processor import PunctuationType
from headrace.topology.naming import Namer, check_name
from headrace.topology.stores import StoreKind, StoreSpec, check_max_entries, check_ttl, no_cache
from headrace.topology.versioned import versioned_times
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

    With `history_retention` the store is versioned, and never cached.

    >>> from headrace import StreamsBuilder
    >>> prices = Materialized[str, float]("prices", history_retention=timedelta(hours=1))
    >>> StreamsBuilder().table("prices", value=float, store=prices)
    <KTable of `KTABLE-SOURCE-0000000001`>
    """

    name: str | None = None
    key: As[K] | None = field(default=None, kw_only=True)
    value: As[V] | None = field(default=None, kw_only=True)
    persistent: bool | None = field(default=None, kw_only=True)
    """On disk, or in memory; by default as the builder says."""
    logging: bool = field(default=True, kw_only=True)
    log_config: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    caching: bool | None = field(default=None, kw_only=True)
    """Behind the record cache: the last value per key at each commit, instead of every update. By default as
    `statestore_cache_max_bytes` says."""
    retention: timedelta | None = field(default=None, kw_only=True)
    """Windows and sessions: how long they are kept; by default the size (or gap) and the grace."""
    ttl: timedelta | None = field(default=None, kw_only=True)
    """Without windows: how long a row lives after its timestamp. A row that runs out is deleted, also downstream."""
    ttl_clock: PunctuationType = field(default=PunctuationType.STREAM_TIME, kw_only=True)
    """What tells how late it is: the records that reach the table and what reads it, or the wall clock as well."""
    max_entries: int | None = field(default=None, kw_only=True)
    """Without windows: how many rows there may be; the one that was used longest ago makes room for a new one."""
    history_retention: timedelta | None = field(default=None, kw_only=True)
    """Makes the table versioned (KIP-889): its rows are known as of any time, as far back as this."""
    segment_interval: timedelta | None = field(default=None, kw_only=True)
    """Versioned tables: how much history is forgotten at once; by default chosen by the history's length."""


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

    @property
    def is_versioned(self) -> bool:
        """Whether the table's history is kept."""
        return self.settings.history_retention is not None

    @property
    def is_needed(self) -> bool:
        """Whether there must be a store even if nothing reads it: rows that run out are known by their store alone."""
        return self.queryable or self.settings.ttl is not None

    def spec(
        self,
        kind: StoreKind,
        *,
        least_retention_ms: int = 0,
        window_size_ms: int = 0,
        cached: bool = True,
        ttl_ms: int | None = None,
    ) -> StoreSpec:
        """The store itself. Some are never cached: those of final results of sliding and session windows. `ttl_ms` is
        given where the operation decides how long rows live.
        """
        settings = self.settings
        if self.is_versioned:
            return self._versioned(kind, ttl_ms)
        if ttl_ms is None:
            ttl_ms = self._ttl_ms(kind)
        if ttl_ms and settings.caching:
            raise self._refused(no_cache("ttl"))
        if settings.max_entries and settings.caching:
            raise self._refused(no_cache("max_entries"))
        retention_ms = least_retention_ms
        if settings.retention is not None:
            if kind == "timestamped_key_value":
                raise self._refused(
                    f"`retention` is for windows and sessions, and rows without them stay, got {settings.retention}: "
                    "use `ttl` to let rows run out"
                )
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
            bool(settings.persistent),
            settings.logging,
            tuple(sorted(settings.log_config.items())),
            settings.caching if cached and not ttl_ms else False,
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
        return check_ttl(self.settings.ttl, self.settings.ttl_clock)

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

    def _versioned(self, kind: StoreKind, ttl_ms: int | None) -> StoreSpec:
        settings = self.settings
        if ttl_ms is not None:
            raise self._refused("what was seen before is not kept in versions: leave `history_retention` out")
        if kind != "timestamped_key_value":
            raise self._refused(
                "windows and sessions are not versioned: use `retention` for them, not `history_retention`"
            )
        assert settings.history_retention is not None
        retention_ms, interval_ms = versioned_times(settings.history_retention, settings.segment_interval)
        # No caching, whatever was said: Kafka Streams has none for versioned stores either.
        return StoreSpec(
            self.name,
            "versioned",
            self.key.serde,
            self.value.internal,
            bool(settings.persistent),
            settings.logging,
            tuple(sorted(settings.log_config.items())),
            retention_ms=retention_ms,
            segment_interval_ms=interval_ms,
            origin=self.origin,
        )


def choose_store(
    store: str | Materialized[K, V] | None, namer: Namer, prefix: str, *, key: Form, value: Form
) -> StoreChoice:
    """Read `store=`; a store without a name takes the next generated one."""
    origin = caller()
    if store is not None and not isinstance(store, str | Materialized):
        raise InvalidArgumentError(f"`store` takes a name or a `Materialized`, got {store!r}", origin=origin)
    settings: Materialized[Any, Any] = store if isinstance(store, Materialized) else Materialized(store)
    if settings.name is not None:
        check_name(settings.name, "store", origin)
    _check_versioned(settings, origin)
    settings = placed(settings, namer)
    return StoreChoice(
        settings.name or namer.store(prefix),
        settings.name is not None,
        settings,
        form(settings.key, key),
        form(settings.value, value),
        origin,
    )


def placed(settings: Materialized[Any, Any], namer: Namer) -> Materialized[Any, Any]:
    """With the builder's word on where the store is, if there is none. History is always on disk then, as in Kafka
    Streams, which cannot keep it in memory.
    """
    if settings.persistent is not None:
        return settings
    return replace(settings, persistent=namer.persistent or settings.history_retention is not None)


def _check_versioned(settings: Materialized[Any, Any], origin: Origin) -> None:
    """A versioned store has a name and a history."""
    problem = None
    if settings.history_retention is None:
        if settings.segment_interval is not None:
            problem = "`segment_interval` is for versioned tables: set `history_retention`, too"
    elif settings.retention is not None:
        problem = (
            "`retention` is for windows and `history_retention` for versioned tables: leave one of them out"
        )
    elif settings.ttl is not None or settings.max_entries is not None:
        problem = (
            "of a versioned table the history is limited, not the rows: leave `ttl` and `max_entries` out"
        )
    elif settings.name is None:
        problem = (
            'a versioned table needs a store with a name: `Materialized("prices", history_retention=...)`'
        )
    if problem is not None:
        raise InvalidArgumentError(problem, node=settings.name, origin=origin)
