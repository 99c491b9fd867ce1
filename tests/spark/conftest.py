"""One Spark session for all tests of a run: starting one takes longer than most tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.topology.topology import Topology


@pytest.fixture(scope="session")
def failpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder: a file in it kills the next worker that passes the point of its name."""
    return tmp_path_factory.mktemp("failpoints")


@pytest.fixture(scope="session")
def spark(failpoints: Path) -> Iterator[None]:
    """The session; an application that finds one uses it."""
    # Late, because other tests of the same run may need no Spark at all.
    from headrace.spark.session import release, session

    before = dict(os.environ)
    os.environ["HEADRACE_FAILPOINTS"] = str(failpoints)
    made = session(None, "tests", {})
    yield
    release(made)
    os.environ.clear()
    os.environ.update(before)


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
