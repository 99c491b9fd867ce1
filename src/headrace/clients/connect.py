"""From what a client is given to its log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from headrace.errors import ConfigError, LogError
from headrace.log import LogConfig, TopicLog, open_log
from headrace.origin import caller


def connect(
    data_dir: str | Path,
    bootstrap_servers: str | None,
    kafka: Mapping[str, str] | None,
    *,
    create: bool = False,
    upkeep: bool = False,
) -> TopicLog:
    """The embedded log in `data_dir`, where an application keeps it as well, or Kafka. Readers make no new log."""
    if bootstrap_servers is not None:
        return open_log(LogConfig(bootstrap_servers=bootstrap_servers, kafka=dict(kafka or {})))
    if kafka:
        raise ConfigError("`kafka` has settings, but there are no `bootstrap_servers`", origin=caller())
    directory = Path(data_dir) / "log"
    if not create and not directory.exists():
        raise LogError(
            f"there is no log in `{directory}`: give its folder as `data_dir` (`--data-dir`), name Kafka's brokers "
            "with `bootstrap_servers` (`--bootstrap-servers`), or begin a log with `headrace topics create`"
        )
    return open_log(LogConfig(directory=str(directory), upkeep=upkeep))
