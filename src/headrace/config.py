"""The settings of an application."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from headrace.errors import ConfigError
from headrace.handlers import ErrorHandler, log_and_fail
from headrace.meant import did_you_mean
from headrace.offset_reset import ALLOWED, OffsetReset, is_offset_reset
from headrace.origin import caller
from headrace.timestamps import TimestampExtractor, fail_on_invalid_timestamp

STATE_DIR: Final = "HEADRACE_STATE_DIR"
"""In the environment of a host: where its local stores are, whatever the application says."""

STANDBY_DIR: Final = "HEADRACE_STANDBY_DIR"
"""The same for warm copies."""


EXACTLY_ONCE: Final = "exactly_once_v2"
AT_LEAST_ONCE: Final = "at_least_once"


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
    processing_guarantee: str = EXACTLY_ONCE
    """"exactly_once_v2": a batch counts entirely or not at all. "at_least_once": on Kafka without a transaction, so
    that readers see outputs at once; a crash may double some of them."""
    auto_offset_reset: OffsetReset = "earliest"
    """Where to begin in a topic that was never read, for sources that say nothing with `offset_reset=`."""
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
    small_batch_records: int = 5_000
    """Up to this many records, a batch on one machine is done by one task of Spark; 0: by all cores, always."""
    max_task_idle: timedelta = timedelta(0)
    """How long records wait for a partition that they meet in a task, and that has none, before time goes on without
    it. Partitions that have records are always read in the order of time."""
    task_timeout: timedelta = timedelta(minutes=5)
    """How long a running application waits for brokers that do not answer, before it fails."""
    master: str | None = None
    """Spark's master; None for this machine's cores."""
    spark: Mapping[str, str] = field(default_factory=dict)
    """More Spark settings."""
    kafka: Mapping[str, str] = field(default_factory=dict)
    """More settings for every Kafka client."""
    topology_optimization: str | None = None
    """What the topology must have been built with, as in `builder.build(optimization="all")`; None: anything."""
    ensure_explicit_internal_resource_naming: bool = False
    """Refuse a topology whose stores or repartition topics have generated names: the next change may rename them."""
    windowstore_changelog_additional_retention: timedelta = timedelta(days=1)
    """How much longer than the store itself the changelog of a window or session store keeps a window."""
    replication_factor: int = -1
    """Of internal topics; -1 takes the broker's default."""
    num_standby_replicas: int = 0
    """How many copies of all stores this application keeps warm, each by a process of its own beside it."""
    standby_dir: str | None = None
    """Where warm copies are; None: beside the local stores."""

    def __post_init__(self) -> None:
        if not _is_name(self.application_id):
            raise ConfigError(
                f"`application_id` names topics and folders: at most {_LONGEST_NAME} letters, digits, `.`, `_` and "
                f"`-` only, got {self.application_id!r}",
                origin=caller(),
            )
        for name, (is_valid, wanted) in _CHECKS.items():
            value = getattr(self, name)
            if not is_valid(value):
                raise ConfigError(f"`{name}` must be {wanted}, got {value!r}", origin=caller())

    @property
    def log_path(self) -> Path:
        """Where the embedded log is."""
        return Path(self.data_dir) / "log"

    @property
    def state_path(self) -> Path:
        """Where the local stores of this application are. What the host itself says comes first: disks differ."""
        named = os.environ.get(STATE_DIR) or self.state_dir or Path(self.data_dir) / "state"
        return Path(named) / self.application_id

    @property
    def standby_path(self) -> Path:
        """Where this host keeps warm copies of this application's stores, each in a folder with a number."""
        beside = self.state_path.parent
        named = os.environ.get(STANDBY_DIR) or self.standby_dir or beside.with_name(f"{beside.name}-standby")
        return Path(named) / self.application_id


def config_of(settings: Mapping[str, Any], config: StreamsConfig | None = None) -> StreamsConfig:
    """Settings by name, on top of those of `config`; a name that is none is refused."""
    known = StreamsConfig.__dataclass_fields__
    for name in settings:
        if name not in known:
            hint = did_you_mean(name, known)
            instead = f"; {hint}" if hint else ": `StreamsConfig` has those that there are"
            raise ConfigError(f"there is no setting `{name}`{instead}", origin=caller())
    if config is not None:
        return replace(config, **settings)
    if "application_id" not in settings:
        raise ConfigError(
            "an application needs a name: pass `application_id=` or a `StreamsConfig`", origin=caller()
        )
    return StreamsConfig(**settings)


def _is_name(value: object) -> bool:
    """Of topics and folders; not one that leads out of its folder."""
    named = isinstance(value, str) and re.fullmatch(rf"[a-zA-Z0-9._-]{{1,{_LONGEST_NAME}}}", value)
    return bool(named) and value not in (".", "..")


def _or_none(is_valid: Callable[[Any], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or is_valid(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_folder(value: object) -> bool:
    return isinstance(value, str | os.PathLike) and bool(os.fspath(value))


def _is_int(least: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_duration(value: object) -> bool:
    return isinstance(value, timedelta) and value >= timedelta(0)


def _is_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(text, str) for name, text in value.items()
    )


_LONGEST_NAME = 200
"""Of an application: its topics have longer names, and Kafka allows 249 characters."""
_COUNT = (_is_int(1), "a number of one or more")
_DURATION = (_is_duration, "a timedelta of zero or more")
_CALLABLE = (callable, "a function")
_TEXTS = (_is_texts, "a mapping from names to texts")
_CHECKS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "commit_interval": _DURATION,
    "processing_guarantee": (
        lambda value: value in (EXACTLY_ONCE, AT_LEAST_ONCE),
        f'"{EXACTLY_ONCE}" or "{AT_LEAST_ONCE}"',
    ),
    "max_task_idle": _DURATION,
    "task_timeout": _DURATION,
    "windowstore_changelog_additional_retention": _DURATION,
    "auto_offset_reset": (is_offset_reset, ALLOWED),
    "bootstrap_servers": (_or_none(_is_text), '"host:port", or several with commas between, or None'),
    "master": (_or_none(_is_text), "a text, or None for this machine"),
    "data_dir": (_is_folder, "a folder"),
    "state_dir": (_or_none(_is_folder), "a folder, or None"),
    "standby_dir": (_or_none(_is_folder), "a folder, or None"),
    "dead_letter_topic": (_or_none(_is_name), "the name of a topic, or None"),
    "create_topics": (_or_none(lambda value: isinstance(value, bool)), "True, False or None"),
    "statestore_cache_max_bytes": (
        _or_none(_is_int(0)),
        "a number of bytes, 0 for no cache, or None",
    ),
    "default_timestamp_extractor": (callable, "a function of a record and the time of its partition"),
    "deserialization_handler": _CALLABLE,
    "processing_handler": _CALLABLE,
    "production_handler": _CALLABLE,
    "production_retries": (_is_int(0), "a number of zero or more"),
    "num_standby_replicas": (_is_int(0), "a number of zero or more"),
    "default_partitions": _COUNT,
    "max_batch_records": _COUNT,
    "max_batch_bytes": _COUNT,
    "small_batch_records": (_is_int(0), "a number of zero or more"),
    "replication_factor": (lambda value: _is_int(-1)(value) and value != 0, "-1 or a number of one or more"),
    "spark": _TEXTS,
    "kafka": _TEXTS,
}
"""What each setting must be, and how to say so."""
