"""Opening all stores of a task the way its host wants them: in memory, or on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.config import StreamsConfig
from headrace.resolve import store_serdes
from headrace.state import Backend, Changelog, Store, open_store
from headrace.task.position import Moment
from headrace.topology.stores import StoreSpec


def open_stores(
    specs: Iterable[StoreSpec],
    config: StreamsConfig,
    moment: Moment,
    *,
    backend: Callable[[StoreSpec], Backend],
    changelog: Callable[[StoreSpec], Changelog | None],
) -> dict[str, Store]:
    """Every store by name. Give the same `moment` to the task: its time is what plain stores log."""
    opened: dict[str, Store] = {}
    for spec in specs:
        full = store_serdes(spec, config)
        assert full.key is not None
        assert full.value is not None
        log = changelog(spec) if spec.logging else None
        opened[spec.name] = open_store(
            full, backend(spec), log, key=full.key, value=full.value, now=moment.now
        )
    return opened
