"""Where topics live: the embedded log in a directory, or Kafka."""

from __future__ import annotations

from headrace.config import AT_LEAST_ONCE, StreamsConfig
from headrace.errors import ConfigError, StartError
from headrace.log.base import (
    Chunk,
    Group,
    LogConfig,
    Outgoing,
    Publication,
    Publisher,
    TopicDescription,
    TopicLog,
    TopicPartition,
)

__all__ = [
    "Chunk",
    "Group",
    "LogConfig",
    "Outgoing",
    "Publication",
    "Publisher",
    "TopicDescription",
    "TopicLog",
    "TopicPartition",
    "existing_log",
    "log_config",
    "open_log",
]


def open_log(config: LogConfig) -> TopicLog:
    """The log that the configuration names: Kafka with `bootstrap_servers`, else the directory.

    >>> import tempfile
    >>> open_log(LogConfig(directory=tempfile.mkdtemp())).topics()
    {}
    """
    # Lazy, because each log brings a native library that the other one's user need not load.
    if config.bootstrap_servers is not None:
        from headrace.log.kafka import KafkaLog

        return KafkaLog(config)
    if config.directory is None:
        raise ConfigError(
            "a log needs `bootstrap_servers` (Kafka) or `directory` (the embedded log), got neither"
        )
    from headrace.log.embedded import EmbeddedLog

    return EmbeddedLog(config.directory, upkeep=config.upkeep)


def existing_log(config: StreamsConfig) -> TopicLog:
    """The log of an application that is said to have run. StartError where there is none: looking makes no log."""
    if config.bootstrap_servers is None and not config.log_path.is_dir():
        raise StartError(
            f"there is no log in `{config.log_path}`, so application `{config.application_id}` has never run there: "
            "give its directory with `--data-dir`, or Kafka's brokers with `--bootstrap-servers`"
        )
    return open_log(log_config(config))


def log_config(config: StreamsConfig) -> LogConfig:
    """How an application reaches its log."""
    if config.bootstrap_servers is not None:
        return LogConfig(
            bootstrap_servers=config.bootstrap_servers,
            kafka=config.kafka,
            replication_factor=config.replication_factor,
            transactions=config.processing_guarantee != AT_LEAST_ONCE,
        )
    return LogConfig(directory=str(config.log_path.resolve()))
