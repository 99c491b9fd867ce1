"""Where an application begins in topics that it has never read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import StreamsBuilder, StreamsConfig
from headrace.app.beginning import first_positions
from headrace.clock import now_ms
from headrace.errors import StartError
from headrace.log import Outgoing
from headrace.log.embedded import EmbeddedLog
from headrace.spark.layout import lay_out

HOUR = 3_600_000


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EmbeddedLog]:
    """A topic of records that are three, two and one hours old."""
    log = EmbeddedLog(tmp_path)
    log.create_topic("in", 1)
    now = now_ms()
    for hours in (3, 2, 1):
        log.append([Outgoing("in", [b"k"], [b"v"], [now - hours * HOUR])])
    yield log
    log.close()


def begin(
    log: EmbeddedLog, offset_reset: Any, known: tuple[str, ...] = (), **settings: Any
) -> dict[str, list[int]]:
    builder = StreamsBuilder()
    builder.stream("in", value=str, offset_reset=offset_reset).to("out")
    topology, config = builder.build(), StreamsConfig(application_id="app", **settings)
    return first_positions(log, topology, lay_out(topology, "app", log.topics()), known, config)


@pytest.mark.parametrize(
    ("offset_reset", "position"),
    [
        (None, 0),
        ("earliest", 0),
        ("latest", 3),
        (timedelta(hours=2, minutes=30), 1),
        (timedelta(days=30), 0),
        (timedelta(0), 3),
    ],
)
def test_a_source_or_else_the_settings_say_where(log: EmbeddedLog, offset_reset: Any, position: int) -> None:
    assert begin(log, offset_reset) == {"in": [position]}
    if offset_reset is not None:
        assert begin(log, None, auto_offset_reset=offset_reset) == {"in": [position]}


def test_a_source_that_must_not_choose_needs_a_position(log: EmbeddedLog) -> None:
    with pytest.raises(
        StartError, match=r"application `app` has no position in `in`, and is not to choose one"
    ):
        begin(log, "none")
    assert begin(log, "none", known=("in",)) == {}
