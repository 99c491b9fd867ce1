"""One Spark session for all tests of a run: starting one takes longer than most tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.topology.topology import Topology

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def failpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder: a file in it kills the next worker that passes the point of its name."""
    return tmp_path_factory.mktemp("failpoints")


@pytest.fixture(scope="session", autouse=True)
def spark(failpoints: Path) -> Iterator[None]:
    """What the session that the first application makes needs from its surroundings, and its end."""
    # Workers import the topologies of tests by name.
    paths = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH")]
    before = dict(os.environ)
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    os.environ["HEADRACE_FAILPOINTS"] = str(failpoints)
    yield
    # Late, because the tests in other folders of the same run may need no Spark at all.
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None:
        session.stop()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Callable[..., Any]]:
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
