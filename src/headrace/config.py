"""The settings of an application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from headrace.errors import ConfigError
from headrace.handlers import ErrorHandler, log_and_fail
from headrace.origin import caller
from headrace.timestamps import TimestampExtractor, fail_on_invalid_timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsConfig:
    """All settings, with defaults that run on a laptop without a broker.

    >>> StreamsConfig(application_id="orders").data_dir
    '.headrace'
    """

    application_id: str
    bootstrap_servers: str | None = None
    """Kafka's brokers; None for the embedded log."""
    data_dir: str = ".headrace"
    """The embedded log, and the local stores unless `state_dir` says otherwise."""
    state_dir: str | None = None
    commit_interval: timedelta = timedelta(milliseconds=0)
    """The least time between two commits; zero commits as soon as a batch is done."""
    statestore_cache_max_bytes: int | None = None
    """The record cache of a task. A size turns it on for every table and aggregate but those with `caching=False`;
    None for those with `caching=True` only (10 MB); 0 turns it off everywhere."""
    default_timestamp_extractor: TimestampExtractor = fail_on_invalid_timestamp
    """For sources that name none."""
    default_key: Any = str
    default_value: Any = None
    """A type or serde for topics that name none."""
    deserialization_handler: ErrorHandler = log_and_fail
    processing_handler: ErrorHandler = log_and_fail
    production_handler: ErrorHandler = log_and_fail
    production_retries: int = 3
    """How often a key or value is written again when `production_handler` says RETRY."""
    dead_letter_topic: str | None = None
    """Where the records that a handler skips are kept; None drops them."""
    create_topics: bool | None = None
    """Make missing source and sink topics; by default on the embedded log only."""
    default_partitions: int = 4
    max_batch_records: int = 250_000
    max_batch_bytes: int = 64 * 1024 * 1024
    master: str | None = None
    """Spark's master; None for this machine's cores."""
    spark: Mapping[str, str] = field(default_factory=dict)
    """More Spark settings."""
    kafka: Mapping[str, str] = field(default_factory=dict)
    """More settings for every Kafka client."""
    topology_optimization: str | None = None
    """What the topology must have been built with, as in `builder.build(optimization="all")`; None: anything."""
    replication_factor: int = -1
    """Of internal topics; -1 takes the broker's default."""

    def __post_init__(self) -> None:
        if not self.application_id or not all(c.isalnum() or c in "._-" for c in self.application_id):
            raise ConfigError(
                f"`application_id` names topics and folders: letters, digits, `.`, `_` and `-` only, "
                f"got {self.application_id!r}",
                origin=caller(),
            )

    @property
    def log_path(self) -> Path:
        """Where the embedded log is."""
        return Path(self.data_dir) / "log"

    @property
    def state_path(self) -> Path:
        """Where the local stores of this application are."""
        return Path(self.state_dir or Path(self.data_dir) / "state") / self.application_id
