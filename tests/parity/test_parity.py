"""Every recorded scenario on Spark equals the test driver, record by record, on one partition and on four.

`--parity=sample` (the default) takes a fixed sample and one run of each, `--parity=once` one run of all scenarios,
`--parity=all` everything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from semantics.cases import Row, Run, case_of
from semantics.replay import rows_of_store
from semantics.scenarios import SCENARIOS, config_of, topology_of

from headrace.spark.layout import lay_out
from tests.parity.inputs import batches
from tests.parity.on_spark import Scenario
from tests.parity.tasks import Placed, Tasks
from tests.spark.harness import Rec

SAMPLE = 12
"""Every so many-th scenario is in the sample."""


@dataclass(slots=True)
class Counts:
    scenarios: int = 0
    runs: int = 0
    batches: int = 0
    records: int = 0
    rows: int = 0


@pytest.fixture(scope="module")
def counts() -> Iterator[Counts]:
    counted = Counts()
    yield counted
    print(
        f"\nparity: {counted.scenarios} scenarios, {counted.runs} runs, {counted.batches} batches, "
        f"{counted.records} records and {counted.rows} store rows on Spark as in the driver"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = SAMPLE if metafunc.config.getoption("--parity") == "sample" else 1
    metafunc.parametrize("name", sorted(SCENARIOS)[::every])


def test_spark_equals_the_driver(
    name: str,
    spark: None,
    stopped_clock: Path,
    tmp_path: Path,
    counts: Counts,
    request: pytest.FixtureRequest,
) -> None:
    runs = case_of(name).runs if request.config.getoption("--parity") == "all" else case_of(name).runs[:1]
    for number, run in enumerate(runs):
        # Four partitions need not be tried in all ways with every seed.
        for partitions, several in [(1, False), (1, True), (4, True)][: None if number < 2 else 2]:
            folder = tmp_path / f"{run.seed}-{partitions}-{several}"
            _compare(name, run, partitions, several, folder, stopped_clock, counts)
            counts.runs += 1
    counts.scenarios += 1


def _compare(
    name: str, run: Run, partitions: int, several: bool, folder: Path, clock: Path, counts: Counts
) -> None:
    case, topology, config = case_of(name), topology_of(name), config_of(name)
    topics = dict.fromkeys({*case.input_topics, *case.output_topics}, partitions)
    scenario = Scenario(topology, config, folder, clock, topics)
    tasks = Tasks(topology, config, lay_out(topology, config.application_id, scenario.log.topics()), topics)
    where = (
        f"{name}, seed {run.seed}, {partitions} partitions, {'several batches' if several else 'one batch'}"
    )
    try:
        scenario.start()
        scenario.catch_up()
        for batch in batches(case, run, partitions, several=several):
            tasks.run(batch)
            scenario.run_batch(batch)
            counts.batches += 1
        for topic in case.output_topics:
            expected = [(place, without_trace(record)) for place, record in tasks.output.get(topic, [])]
            found = {
                number: list(map(without_trace, records)) for number, records in scenario.read(topic).items()
            }
            # What comes back from another task falls into another batch than in the driver: only the end is the same.
            same = _same_tables if tasks.layout.looped else _same_records
            same(expected, found, f"{where}: topic `{topic}`")
            counts.records += len(expected)
        assert scenario.streams is not None
        for store, kind in case.stores.items():
            if tasks.layout.looped and kind == "versioned":
                continue  # it orders by the times of results, which depend on whose change came first (ADR 0021)
            asked = run.stores[store]
            expected_rows = _rows([rows_of_store(one, kind, asked) for one in tasks.store(store)], kind)
            found_rows = _rows(
                [rows_of_store(scenario.streams.store(store), kind, asked)], kind, queried=True
            )
            if tasks.layout.looped:
                found_rows, expected_rows = _without_zeros(found_rows), _without_zeros(expected_rows)
            assert found_rows == expected_rows, f"{where}: store `{store}`"
            counts.rows += len(expected_rows)
    finally:
        scenario.close()
        tasks.close()


def _rows(tasks: list[list[Row]], kind: str, *, queried: bool = False) -> list[Row]:
    """The rows of all tasks as one. Queries give values without their times, as in Kafka Streams."""
    if kind == "versioned":
        # All were asked the same; the one that has the key has the longest answer.
        return [max(answers, key=len) for answers in zip(*tasks, strict=True)]
    width = -1 if kind.startswith("timestamped_") and not queried else None
    return sorted((row[:width] for rows in tasks for row in rows), key=repr)


def _without_zeros(rows: list[Row]) -> list[Row]:
    """See `_same_tables`."""
    return [row for row in rows if row[-1] != 0]


PLACE = re.compile(rb"(-repartition[-/]\d+[@/])\d+")
"""Where a record stood in a repartition topic. On Spark there is none: its records are counted within the batch."""


def without_trace(record: Rec) -> Rec:
    """A record without what tells by which way it came: the stack trace in a dead letter, offsets of a shuffle."""
    headers = tuple(
        (name, value and PLACE.sub(rb"\1", value))
        for name, value in record.headers
        if name != "__streams.errors.stacktrace"
    )
    return record._replace(value=record.value and PLACE.sub(rb"\1", record.value), headers=headers)


def _same_records(expected: list[Placed], found: dict[int, list[Rec]], where: str) -> None:
    """Partition by partition in order; records without a key may be in any of them."""
    for number, records in found.items():
        wanted = [record for place, record in expected if place == number]
        assert [record for record in records if record.key is not None] == wanted, f"{where}, {number}"
    loose = Counter(record for place, record in expected if place is None)
    assert Counter(r for records in found.values() for r in records if r.key is None) == loose, where


def _same_tables(expected: list[Placed], found: dict[int, list[Rec]], where: str) -> None:
    """The last value of each key; records without one are of no table. A group that had a row for a moment only, on the
    way, is left with a count of zero.
    """
    wanted = {record.key: record.value for _, record in expected}
    last = {record.key: record.value for records in found.values() for record in records}
    for table in (wanted, last):
        for key in [key for key, value in table.items() if key is None or value in (None, bytes(8))]:
            del table[key]
    assert last == wanted, where
