"""Opening all stores of a task the way its host wants them: in memory, or on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.config import StreamsConfig
from headrace.resolve import store_serdes
from headrace.state import (
    Backend,
    Changelog,
    RecordCache,
    Store,
    can_be_cached,
    open_cached_store,
    open_store,
)
from headrace.task.position import Moment
from headrace.topology.stores import StoreSpec

DEFAULT_CACHE_BYTES = 10 * 1024 * 1024
"""Where stores ask to be cached and no size is set; Kafka Streams' default."""


def open_stores(
    specs: Iterable[StoreSpec],
    config: StreamsConfig,
    moment: Moment,
    *,
    backend: Callable[[StoreSpec], Backend],
    changelog: Callable[[StoreSpec], Changelog | None],
) -> dict[str, Store]:
    """Every store by name. Give the same `moment` to the task: its time is what plain stores log.

    Stores that are cached share one cache: the task flushes it.
    """
    opened: dict[str, Store] = {}
    shared = RecordCache(cache_size(config))
    for spec in specs:
        full = store_serdes(spec, config)
        assert full.key is not None
        assert full.value is not None
        log = changelog(spec) if spec.logging else None
        if is_cached(spec, config):
            opened[spec.name] = open_cached_store(
                full, backend(spec), log, key=full.key, value=full.value, moment=moment, shared=shared
            )
            continue
        opened[spec.name] = open_store(
            full, backend(spec), log, key=full.key, value=full.value, now=moment.now
        )
    return opened


def cache_size(config: StreamsConfig) -> int:
    """How many bytes the record cache of a task may take."""
    size = config.statestore_cache_max_bytes
    return DEFAULT_CACHE_BYTES if size is None else size


def is_cached(spec: StoreSpec, config: StreamsConfig) -> bool:
    """A store that says nothing is cached when the configuration sets a size; a size of 0 is off for all."""
    size = config.statestore_cache_max_bytes
    wanted = size is not None if spec.caching is None else spec.caching
    return wanted and size != 0 and can_be_cached(spec)
