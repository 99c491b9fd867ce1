"""The topics that are there before an application starts."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.config import StreamsConfig
from headrace.errors import HeadraceError
from headrace.log import LogConfig, open_log


def topics_that_are_there(config: StreamsConfig) -> Mapping[str, int]:
    """Topics with their partitions; none where there is no log yet, or no broker answers. Makes nothing."""
    if config.bootstrap_servers is None and not config.log_path.is_dir():
        return {}
    directory = None if config.bootstrap_servers is not None else str(config.log_path.resolve())
    try:
        log = open_log(LogConfig(config.bootstrap_servers, directory, config.kafka))
    except HeadraceError:
        return {}
    try:
        return dict(log.topics())
    except HeadraceError:
        return {}
    finally:
        log.close()
