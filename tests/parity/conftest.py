"""Parity shares the Spark session of the tests on Spark, but stops the wall clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def stopped_clock(failpoints: Path) -> Iterator[Path]:
    """The file with the wall clock of all applications."""
    file = failpoints / "clock"
    file.write_text("0")
    yield file
    file.unlink()
