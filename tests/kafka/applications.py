"""Applications of this process on the broker of the tests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from headrace.log import LogConfig, open_log
from headrace.topology.topology import Topology
from tests.kafka.broker import Broker
from tests.spark.harness import Application


@contextlib.contextmanager
def applications(broker: Broker, folder: Path, application_id: str) -> Iterator[Callable[..., Application]]:
    """Makes applications; they are closed at the end, whatever happens, and all new topics are deleted."""
    log = open_log(LogConfig(bootstrap_servers=broker.bootstrap_servers))
    before = set(log.topics())
    made: list[Application] = []

    def make(topology: Topology, **settings: Any) -> Application:
        given = {"application_id": application_id, "bootstrap_servers": broker.bootstrap_servers, **settings}
        made.append(Application(topology, folder, **given))
        return made[-1]

    try:
        yield make
    finally:
        for app in made:
            app.close()
        for topic in set(log.topics()) - before:
            log.delete_topic(topic)
        log.close()
