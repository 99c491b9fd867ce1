"""Versioned stores as the topology knows them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from headrace.origin import caller
from headrace.serdes import serde_for
from headrace.topology.stores import StoreSpec
from headrace.windows import milliseconds


def versioned_key_value_store(
    name: str,
    *,
    history_retention: timedelta,
    segment_interval: timedelta | None = None,
    key: Any = None,
    value: Any = None,
    persistent: bool = True,
    logging: bool = True,
    log_config: Mapping[str, str] | None = None,
) -> StoreSpec:
    """A store for a processor: the values of each key over time, as far back as `history_retention` in stream time.

    What is older is forgotten in steps of `segment_interval`, which is chosen by the retention if it is left out.

    >>> versioned_key_value_store("prices", history_retention=timedelta(hours=1), value=float).kind
    'versioned'
    """
    retention_ms, interval_ms = versioned_times(history_retention, segment_interval)
    return StoreSpec(
        name,
        "versioned",
        None if key is None else serde_for(key),
        None if value is None else serde_for(value),
        persistent,
        logging,
        tuple(sorted((log_config or {}).items())),
        retention_ms=retention_ms,
        segment_interval_ms=interval_ms,
        origin=caller(),
    )


def versioned_times(history_retention: timedelta, segment_interval: timedelta | None) -> tuple[int, int]:
    """Retention and segment interval of a versioned store, in milliseconds."""
    retention_ms = milliseconds(history_retention, "history_retention", positive=False)
    if segment_interval is None:
        return retention_ms, versioned_segment_interval(retention_ms)
    return retention_ms, milliseconds(segment_interval, "segment_interval")


def versioned_segment_interval(retention_ms: int) -> int:
    """How much time a segment of a versioned store covers unless said otherwise: Kafka Streams' steps."""
    if retention_ms <= 60_000:
        return max(retention_ms // 3, 2_000)
    if retention_ms <= 300_000:
        return max(retention_ms // 5, 20_000)
    if retention_ms <= 3_600_000:
        return max(retention_ms // 12, 60_000)
    return max(retention_ms // 24, 300_000)
