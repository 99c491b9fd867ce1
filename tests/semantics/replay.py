"""Replays a recorded run through the test driver and says where the two first differ."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from semantics.cases import Case, Row, Run, case_of
from semantics.scenarios import config_of, topology_of
from semantics.scenarios.common import ms

from headrace import StreamsConfig, Topology
from headrace.record import Record, Windowed
from headrace.state import ValueAndTimestamp
from headrace.testing import TopologyTestDriver

END_OF_TIME = 2**63 - 1


@dataclass(slots=True)
class Counts:
    """How much was compared."""

    topologies: int = 0
    runs: int = 0
    steps: int = 0
    records: int = 0
    rows: int = 0
    texts: int = 0


def replay(name: str, counts: Counts, *, restarts: bool = False) -> None:
    """Replay all runs of a scenario's case, with a restart before each step if asked for; an assertion fails at the
    first step that differs.
    """
    replay_case(case_of(name), lambda: topology_of(name), config_of(name), counts, restarts=restarts)


def replay_case(
    case: Case,
    topology: Callable[[], Topology],
    config: StreamsConfig,
    counts: Counts,
    *,
    restarts: bool = False,
    stores: bool = True,
) -> None:
    """`replay` for a topology and settings of any origin, with or without a look at the stores in the end."""
    for run in case.runs:
        counts.runs += 1
        with TopologyTestDriver(topology(), config, initial_wall_clock_time=0) as driver:
            _replay_steps(driver, case, run, counts, restarts)
            for store, kind in case.stores.items() if stores else ():
                found = rows_of_store(driver.get_state_store(store), kind, run.stores[store])
                assert found == run.stores[store], f"{case.scenario}, seed {run.seed}: store `{store}`"
                counts.rows += len(found)


def _replay_steps(driver: TopologyTestDriver, case: Case, run: Run, counts: Counts, restarts: bool) -> None:
    inputs = {topic: driver.input(topic, *kinds.serdes()) for topic, kinds in case.input_topics.items()}
    outputs = {topic: driver.output(topic, *kinds.serdes()) for topic, kinds in case.output_topics.items()}
    held = ExitStack()
    for number, step in enumerate(run.steps):
        if restarts and number % case.commit_every == 0:
            driver.restart()
        if case.commit_every > 1 and number % case.commit_every == 0:
            held.enter_context(driver.one_commit())
        if step.topic is None:
            driver.advance_wall_clock_time(ms(step.advance))
        else:
            key, value, timestamp, *_ = step.record
            inputs[step.topic].pipe(key, value, timestamp=timestamp, headers=step.headers)
        if (number + 1) % case.commit_every == 0 or number + 1 == len(run.steps):
            held.close()
        found = {
            topic: [row_of_record(record, case.has_headers) for record in output.read_records()]
            for topic, output in outputs.items()
        }
        found = {topic: records for topic, records in found.items() if records}
        assert found == step.outputs, (
            f"{case.scenario}, seed {run.seed}, step {number}: {step.record or step.advance}"
        )
        counts.steps += 1
        counts.records += sum(map(len, found.values()))
    known = {*outputs, *inputs}
    internal = driver.config.application_id + "-"
    written = {topic for topic in driver.produced_topic_names() if not topic.startswith(internal)}
    assert written <= known, f"wrote to {written - known}, which the case does not know"


def row_of_record(record: Record[Any, Any], with_headers: bool) -> Row:
    """A record as a case lists it."""
    row = [_key(record.key), record.value, record.timestamp]
    if with_headers:
        row += [
            text for name, data in record.headers for text in (name, None if data is None else data.decode())
        ]
    return row


def rows_of_store(store: Any, kind: str, expected: list[Row]) -> list[Row]:
    """A store's contents as a case lists them; a versioned store is asked what the case has asked."""
    match kind:
        case "versioned":
            return [_versioned_row(store, *row[:2]) for row in expected]
        case "kv" | "timestamped_kv":
            entries = store.all()
        case "window" | "timestamped_window":
            entries = store.fetch_all(0, END_OF_TIME)
        case "session":
            entries = store.fetch_range(None, None)
        case _:
            raise ValueError(kind)
    rows = [(_place(key), _kept(value)) for key, value in entries]
    return [[*place, *kept] for place, kept in sorted(rows, key=lambda row: row[0])]


def _key(key: Any) -> Any:
    return _place(key) if isinstance(key, Windowed) else key


def _versioned_row(store: Any, key: Any, as_of: int | None) -> Row:
    found = store.get(key, as_of)
    # Here the end of a version is handed out, in Kafka Streams it is not (ADR 0019).
    return [key, as_of] if found is None else [key, as_of, found.value, found.timestamp, None]


def _place(key: Any) -> Row:
    return [key.key, key.start, key.end] if isinstance(key, Windowed) else [key]


def _kept(value: Any) -> Row:
    return [value.value, value.timestamp] if isinstance(value, ValueAndTimestamp) else [value]
