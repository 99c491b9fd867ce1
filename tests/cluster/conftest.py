"""One cluster of two hosts for the tests that need it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.standalone import StandaloneCluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """A master and two workers, each a host of its own."""
    with StandaloneCluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made
