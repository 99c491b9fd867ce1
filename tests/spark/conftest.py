"""Applications on Spark, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.topology.topology import Topology


@pytest.fixture
def application(spark: None, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Makes applications in this process; they are closed at the end, also when the test fails."""
    from tests.spark.harness import Application

    made: list[Application] = []

    def make(topology: Topology, **settings: Any) -> Application:
        folder = settings.pop("folder", tmp_path)
        made.append(Application(topology, folder, **settings))
        return made[-1]

    yield make
    for app in made:
        app.close()
