"""What is there before an application starts: its topics, and the number of tasks that it was rescaled to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from headrace.config import StreamsConfig
from headrace.errors import HeadraceError
from headrace.log import LogConfig, open_log
from headrace.spark.commit import task_count


class Available(NamedTuple):
    """What the log says."""

    topics: Mapping[str, int]
    tasks: int | None = None


NOTHING = Available({})


def look(config: StreamsConfig) -> Available:
    """Nothing where there is no log yet, or no broker answers. Makes nothing, and takes nobody's place."""
    if config.bootstrap_servers is None and not config.log_path.is_dir():
        return NOTHING
    directory = None if config.bootstrap_servers is not None else str(config.log_path.resolve())
    try:
        log = open_log(LogConfig(config.bootstrap_servers, directory, config.kafka))
    except HeadraceError:
        return NOTHING
    try:
        return Available(dict(log.topics()), task_count(log.committed(config.application_id)))
    except HeadraceError:
        return NOTHING
    finally:
        log.close()
