"""Says at the end how much was compared with Kafka Streams."""

from __future__ import annotations

import pytest
from semantics.replay import Counts

COUNTS = pytest.StashKey[Counts]()


@pytest.fixture
def counts(request: pytest.FixtureRequest) -> Counts:
    """Counted over all cases that are replayed as they were recorded."""
    return request.config.stash.setdefault(COUNTS, Counts())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    counted = config.stash.get(COUNTS, None)
    if counted is not None:
        compared = counted.steps + counted.rows + counted.texts
        terminalreporter.write_line(
            f"as in Kafka Streams: {counted.topologies} topologies, {counted.runs} runs, {counted.steps} steps with "
            f"{counted.records} records, {counted.rows} store rows, {counted.texts} describe() texts: "
            f"{compared} comparisons"
        )
