"""State stores as the topology knows them: a name, a kind, serdes and settings. No store is opened here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from headrace.errors import InvalidArgumentError
from headrace.origin import NOWHERE, Origin, caller
from headrace.processor import PunctuationType
from headrace.serdes import Serdes, serde_for
from headrace.serdes.base import Serde
from headrace.store import StateStore
from headrace.topology.naming import check_name
from headrace.windows import milliseconds

StoreKind: TypeAlias = Literal[
    "key_value",
    "timestamped_key_value",
    "window",
    "timestamped_window",
    "session",
    "versioned",
    "custom",
    "suppression_buffer",
    "grace_buffer",
]


@dataclass(frozen=True, slots=True)
class StoreSpec:
    """What is needed to open a store, and nothing of how it is kept."""

    name: str
    kind: StoreKind
    key: Serde[Any] | None
    value: Serde[Any] | None
    persistent: bool = True
    logging: bool = True
    log_config: tuple[tuple[str, str], ...] = ()
    caching: bool | None = False
    """Behind the record cache; None: if the configuration sets a size for it."""
    retention_ms: int = 0
    """Windows and sessions: how long a window is kept, in stream time. Versioned stores: how far the history goes."""
    window_size_ms: int = 0
    """Time windows: the size, needed to know a window's end."""
    retain_duplicates: bool = False
    ttl_ms: int = 0
    """Key-value stores: how long a row lives after its timestamp; 0: for ever."""
    ttl_clock: PunctuationType = PunctuationType.STREAM_TIME
    """What tells how late it is."""
    max_entries: int = 0
    """Key-value stores: how many rows there may be (0: any number); the one used longest ago makes room."""
    segment_interval_ms: int = 0
    """Versioned stores: how much time is forgotten at once."""
    supplier: Callable[[], Any] | None = None
    """Stores of the user's own: makes one for each task."""
    filled_by: str | None = None
    """Read-only stores: the processor that alone may write."""
    changelog_topic: str | None = None
    """A source topic that serves as changelog (optimised tables); otherwise `<app>-<name>-changelog`."""
    origin: Origin = field(default=NOWHERE, compare=False)


def key_value_store(
    name: str,
    *,
    key: Any = None,
    value: Any = None,
    timestamped: bool = False,
    max_entries: int | None = None,
    persistent: bool = True,
    logging: bool = True,
    log_config: Mapping[str, str] | None = None,
    caching: bool = False,
    ttl: timedelta | None = None,
    ttl_clock: PunctuationType = PunctuationType.STREAM_TIME,
) -> StoreSpec:
    """A store for a processor: one value per key, with the time of its last change when `timestamped`.

    With `ttl`, a row is gone when the time of the records that reach the store's processors is more than that after
    the record that it was put with. `ttl_clock=PunctuationType.WALL_CLOCK_TIME` lets the wall clock count as well.
    With `max_entries` (Kafka Streams' LRU map) the row that was used longest ago makes room for a new one.

    >>> key_value_store("seen", key=str, value=int).kind
    'key_value'
    >>> key_value_store("recent", key=str, value=int, ttl=timedelta(hours=1)).ttl_ms
    3600000
    >>> key_value_store("last", value=str, max_entries=1000).max_entries
    1000
    """
    if max_entries is not None and ttl is not None:
        raise InvalidArgumentError(
            "rows leave by `max_entries` or by `ttl`, not both: leave one of them out",
            node=name,
            origin=caller(),
        )
    if caching and (max_entries is not None or ttl is not None):
        message = no_cache("ttl" if ttl is not None else "max_entries")
        raise InvalidArgumentError(message, node=name, origin=caller())
    return StoreSpec(
        _named(name),
        "timestamped_key_value" if timestamped else "key_value",
        _serde(key),
        _serde(value),
        persistent,
        logging,
        _pairs(log_config),
        caching,
        ttl_ms=0 if ttl is None else check_ttl(ttl, ttl_clock),
        ttl_clock=ttl_clock,
        max_entries=check_max_entries(max_entries, name),
        origin=caller(),
    )


def window_store(
    name: str,
    *,
    size: timedelta,
    retention: timedelta,
    key: Any = None,
    value: Any = None,
    timestamped: bool = False,
    retain_duplicates: bool = False,
    persistent: bool = True,
    logging: bool = True,
    log_config: Mapping[str, str] | None = None,
    caching: bool = False,
) -> StoreSpec:
    """A store for a processor: one value per key and window start, kept for `retention` in stream time.

    >>> window_store(
    ...     "recent", size=timedelta(minutes=1), retention=timedelta(hours=1), value=int
    ... ).retention_ms
    3600000
    """
    size_ms, retention_ms = milliseconds(size, "size"), milliseconds(retention, "retention")
    if retention_ms < size_ms:
        raise InvalidArgumentError(
            f"`retention` must not be shorter than the window, got {retention} for windows of {size}",
            node=name,
            origin=caller(),
        )
    return StoreSpec(
        _named(name),
        "timestamped_window" if timestamped else "window",
        _serde(key),
        _serde(value),
        persistent,
        logging,
        _pairs(log_config),
        caching,
        retention_ms=retention_ms,
        window_size_ms=size_ms,
        retain_duplicates=retain_duplicates,
        origin=caller(),
    )


def session_store(
    name: str,
    *,
    retention: timedelta,
    key: Any = None,
    value: Any = None,
    persistent: bool = True,
    logging: bool = True,
    log_config: Mapping[str, str] | None = None,
    caching: bool = False,
) -> StoreSpec:
    """A store for a processor: one value per key and session, kept for `retention` in stream time.

    >>> session_store("visits", retention=timedelta(hours=1), value=int).kind
    'session'
    """
    return StoreSpec(
        _named(name),
        "session",
        _serde(key),
        _serde(value),
        persistent,
        logging,
        _pairs(log_config),
        caching,
        retention_ms=milliseconds(retention, "retention"),
        origin=caller(),
    )


def custom_store(
    name: str,
    supplier: Callable[[], StateStore],
    *,
    logging: bool = True,
    log_config: Mapping[str, str] | None = None,
) -> StoreSpec:
    """A store of your own for processors; `supplier()` makes a new `StateStore` for each task.

    >>> from headrace import StateStore
    >>> custom_store("graph", StateStore).kind
    'custom'
    """
    origin = caller()
    if isinstance(supplier, StateStore) or not callable(supplier):
        raise InvalidArgumentError(
            f"a store is made anew for each task: pass its class or a function that returns one, got {supplier!r}",
            node=name,
            origin=origin,
        )
    if isinstance(supplier, type) and not issubclass(supplier, StateStore):
        raise InvalidArgumentError(
            f"a store of your own is a `StateStore`, and `{supplier.__name__}` is none: derive it from "
            "`headrace.StateStore`",
            node=name,
            origin=origin,
        )
    return StoreSpec(
        _named(name),
        "custom",
        Serdes.bytes(),
        Serdes.bytes(),
        True,
        logging,
        _pairs(log_config),
        supplier=supplier,
        origin=origin,
    )


def check_max_entries(given: int | None, store: str) -> int:
    """A number of rows; 0 for no limit."""
    if given is None:
        return 0
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise InvalidArgumentError(
            f"`max_entries` must be a whole number of at least 1, got {given!r}", node=store, origin=caller()
        )
    return given


def no_cache(by: str) -> str:
    """Why rows that leave by `ttl` or `max_entries` are not cached."""
    told = "whose rows run out" if by == "ttl" else "with `max_entries`"
    return f"a store {told} cannot have a cache in front, which would hide which rows are gone: leave `caching` out"


def check_ttl(ttl: timedelta, clock: PunctuationType) -> int:
    """A time to live in milliseconds; refuses what is no time and no clock."""
    if not isinstance(clock, PunctuationType):
        raise InvalidArgumentError(
            f"`ttl_clock` takes `PunctuationType.STREAM_TIME` or `.WALL_CLOCK_TIME`, got {clock!r}",
            origin=caller(),
        )
    return milliseconds(ttl, "ttl")


def _named(name: str) -> str:
    check_name(name, "name", caller())
    return name


def _serde(given: Any) -> Serde[Any] | None:
    return None if given is None else serde_for(given)


def _pairs(config: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((config or {}).items()))
