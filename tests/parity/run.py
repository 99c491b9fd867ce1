"""One recorded run of a scenario, on Spark and in test drivers, compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from semantics.cases import Run, case_of
from semantics.replay import rows_of_store
from semantics.scenarios import config_of, topology_of

from headrace.spark.layout import lay_out
from tests.parity.compare import rows_of, same_records, same_tables, without_trace, without_zeros
from tests.parity.inputs import batches
from tests.parity.on_spark import Scenario
from tests.parity.tasks import Tasks


@dataclass(frozen=True, slots=True)
class Way:
    """How a scenario is run: which of its recorded inputs, on how many partitions, in one batch or several."""

    scenario: str
    seed: int
    partitions: int
    several: bool
    persistent: bool = True
    """With stores on disk; else with those in memory."""

    @property
    def small(self) -> int:
        """Up to how many records a batch is done by one task of Spark: all batches, none, or some of them."""
        if self.partitions > 1:
            return 12
        return 1_000 if self.several else 0

    def __str__(self) -> str:
        size = "several batches" if self.several else "one batch"
        memory = "" if self.persistent else ", stores in memory"
        return f"{self.scenario}, seed {self.seed}, {self.partitions} partitions, {size}{memory}"


@dataclass(slots=True)
class Counts:
    """How much was compared."""

    runs: int = 0
    batches: int = 0
    records: int = 0
    stores: int = 0
    rows: int = 0

    def add(self, other: Counts) -> None:
        for name in Counts.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def ways(name: str, *, once: bool = False) -> list[Way]:
    """One partition in one batch and in several, four partitions (not with every seed), and stores in memory (once)."""
    found = []
    for number, run in enumerate(case_of(name).runs[: 1 if once else None]):
        for partitions, several in [(1, False), (1, True), (4, True)][: None if number < 2 else 2]:
            found.append(Way(name, run.seed, partitions, several))
    if not once and case_of(name).same_in_memory == (True, True):
        found.append(Way(name, case_of(name).runs[0].seed, 4, True, persistent=False))
    return found


def compare(way: Way, folder: Path, clock: Path) -> Counts:
    """Run it; an assertion fails where the two differ."""
    name = way.scenario
    case, topology, config = case_of(name), topology_of(name, persistent=way.persistent), config_of(name)
    config = replace(config, small_batch_records=way.small)
    run: Run = next(each for each in case.runs if each.seed == way.seed)
    topics = dict.fromkeys({*case.input_topics, *case.output_topics}, way.partitions)
    scenario = Scenario(topology, config, folder, clock, topics)
    tasks = Tasks(topology, config, lay_out(topology, config.application_id, scenario.log.topics()), topics)
    counts = Counts(runs=1)
    try:
        scenario.start()
        scenario.catch_up()
        for batch in batches(case, run, way.partitions, several=way.several):
            tasks.run(batch)
            scenario.run_batch(batch)
            counts.batches += 1
        for topic in case.output_topics:
            expected = [(place, without_trace(record)) for place, record in tasks.output.get(topic, [])]
            found = {
                number: list(map(without_trace, records)) for number, records in scenario.read(topic).items()
            }
            # What comes back from another task falls into another batch than in the driver: only the end is the same.
            same = same_tables if tasks.layout.looped else same_records
            same(expected, found, f"{way}: topic `{topic}`")
            counts.records += len(expected)
        assert scenario.streams is not None
        for store, kind in case.stores.items():
            if tasks.layout.looped and kind == "versioned":
                continue  # it orders by the times of results, which depend on whose change came first (ADR 0021)
            asked = run.stores[store]
            expected_rows = rows_of([rows_of_store(one, kind, asked) for one in tasks.store(store)], kind)
            found_rows = rows_of(
                [rows_of_store(scenario.streams.store(store), kind, asked)], kind, queried=True
            )
            if tasks.layout.looped:
                found_rows, expected_rows = without_zeros(found_rows), without_zeros(expected_rows)
            assert found_rows == expected_rows, f"{way}: store `{store}`"
            counts.stores += 1
            counts.rows += len(expected_rows)
    finally:
        scenario.close()
        tasks.close()
    return counts
