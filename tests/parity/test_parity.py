"""Every recorded scenario on Spark equals the test driver, record by record, on one partition and on four.

`--parity=sample` (the default) takes a fixed sample and one seed of each, `--parity=once` one seed of all scenarios.
`make parity` takes everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from semantics.scenarios import SCENARIOS

from tests.parity.run import Counts, compare, ways

SAMPLE = 12
"""Every so many-th scenario is in the sample."""


@pytest.fixture(scope="module")
def counts() -> Iterator[Counts]:
    counted = Counts()
    yield counted
    print(
        f"\nparity: {counted.runs} runs, {counted.batches} batches, {counted.records} records and {counted.rows} rows "
        f"of {counted.stores} stores on Spark as in the driver"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        every = SAMPLE if metafunc.config.getoption("--parity") == "sample" else 1
        metafunc.parametrize("name", sorted(SCENARIOS)[::every])


def test_spark_equals_the_driver(
    name: str, spark: None, stopped_clock: Path, tmp_path: Path, counts: Counts
) -> None:
    for number, way in enumerate(ways(name, once=True)):
        counts.add(compare(way, tmp_path / str(number), stopped_clock))
