"""`describe()` is Kafka Streams' text to the letter: the files in `conformance/describe` are the real library's."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import describe_foreign_key_cases  # noqa: F401 - adds its cases
import describe_more_cases  # noqa: F401 - adds its cases
import describe_stream_cases  # noqa: F401 - adds its cases
import describe_suppress_cases  # noqa: F401 - adds its cases
import describe_table_cases  # noqa: F401 - adds its cases
import pytest
from describe_cases import CASES

from headrace import Topology

TEXTS = Path(__file__).parents[2] / "conformance" / "describe"


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_text_equals_kafka_streams(name: str) -> None:
    build: Callable[[], Topology] = CASES[name]
    assert str(build().describe()) == (TEXTS / f"{name}.txt").read_text()


def test_every_text_has_its_topology() -> None:
    recorded = {path.stem for path in TEXTS.glob("*.txt")}
    # Those with optimizations are compared beside the scenarios.
    assert {name for name in recorded if "_opt_" not in name} == set(CASES)
    assert not [name for name in CASES if not re.fullmatch("[a-z0-9_]+", name)]
