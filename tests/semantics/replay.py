"""Replays a recorded run through the test driver and says where the two first differ."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from semantics.scenarios import config_of, topology_of
from semantics.scenarios.common import ms

from headrace import Serde, Serdes
from headrace.record import Headers, Record, Windowed
from headrace.serdes import SessionWindowedSerde, TimeWindowedSerde
from headrace.state import ValueAndTimestamp
from headrace.testing import TopologyTestDriver

CASES = Path(__file__).parents[2] / "conformance" / "cases"
END_OF_TIME = 2**63 - 1


@dataclass(slots=True)
class Counts:
    """How much was compared."""

    runs: int = 0
    steps: int = 0
    records: int = 0
    rows: int = 0


@cache
def case_of(name: str) -> dict[str, Any]:
    """A recorded case."""
    loaded: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    return loaded


def serde_of(kind: str, topic: dict[str, Any]) -> Serde[Any]:
    """The serde that a case calls by this name."""
    match kind:
        case "string":
            return Serdes.string()
        case "long":
            return Serdes.long()
        case "windowed_string":
            return TimeWindowedSerde(Serdes.string(), topic["window_size"])
        case "session_windowed_string":
            return SessionWindowedSerde(Serdes.string())
    raise ValueError(kind)


def replay(name: str, counts: Counts, *, restarts: bool = False) -> None:
    """Replay all runs of a case, with a restart before each step if asked for; an assertion fails at the first
    step that differs.
    """
    case = case_of(name)
    for run in case["runs"]:
        counts.runs += 1
        with TopologyTestDriver(
            topology_of(name), config_of(name), initial_wall_clock_time=case["initial_wall_clock_ms"]
        ) as driver:
            _replay_steps(driver, case, run, counts, restarts)
            for store, kind in case["stores"].items():
                found = rows_of_store(driver.get_state_store(store), kind)
                assert found == run["stores"][store], f"{name}, seed {run['seed']}: store `{store}`"
                counts.rows += len(found)


def _replay_steps(
    driver: TopologyTestDriver, case: dict[str, Any], run: dict[str, Any], counts: Counts, restarts: bool
) -> None:
    inputs = {
        topic: driver.input(topic, serde_of(kinds["key"], kinds), serde_of(kinds["value"], kinds))
        for topic, kinds in case["input_topics"].items()
    }
    outputs = {
        topic: driver.output(topic, serde_of(kinds["key"], kinds), serde_of(kinds["value"], kinds))
        for topic, kinds in case["output_topics"].items()
    }
    for number, (step, expected) in enumerate(zip(run["steps"], run["outputs"], strict=True)):
        if restarts:
            driver.restart()
        if step["op"] == "advance_wall_clock":
            driver.advance_wall_clock_time(ms(step["ms"]))
        else:
            headers = step.get("headers", ())
            topic = inputs[step["topic"]]
            topic.pipe(step["key"], step["value"], timestamp=step["timestamp"], headers=headers)
        found = {
            topic: [_record(record, case["has_headers"]) for record in output.read_records()]
            for topic, output in outputs.items()
        }
        found = {topic: records for topic, records in found.items() if records}
        assert found == expected, f"{case['scenario']}, seed {run['seed']}, step {number}: {step}"
        counts.steps += 1
        counts.records += sum(map(len, found.values()))
    known = {*outputs, *inputs}
    internal = driver.config.application_id + "-"
    written = {topic for topic in driver.produced_topic_names() if not topic.startswith(internal)}
    assert written <= known, f"wrote to {written - known}, which the case does not know"


def _record(record: Record[Any, Any], with_headers: bool) -> dict[str, Any]:
    key = record.key
    if isinstance(key, Windowed):
        key = {"key": key.key, "start": key.start, "end": key.end}
    found = {"key": key, "value": record.value, "timestamp": record.timestamp}
    if with_headers:
        found["headers"] = [[name, None if data is None else data.decode()] for name, data in record.headers]
    return found


def record_of(
    key: bytes | None,
    value: bytes | None,
    timestamp: int,
    headers: Headers,
    key_serde: Serde[Any],
    value_serde: Serde[Any],
    with_headers: bool,
) -> dict[str, Any]:
    """A written record as a case lists it."""
    read_key = None if key is None else key_serde.deserialize(key)
    read_value = None if value is None else value_serde.deserialize(value)
    return _record(Record(read_key, read_value, timestamp, headers), with_headers)


def rows_of_store(store: Any, kind: str) -> list[dict[str, Any]]:
    """A store's contents as a case lists them."""
    match kind:
        case "kv" | "timestamped_kv":
            entries = store.all()
        case "window" | "timestamped_window":
            entries = store.fetch_all(0, END_OF_TIME)
        case "session":
            entries = store.fetch_range(None, None)
        case _:
            raise ValueError(kind)
    return sorted(
        (_row(key, value) for key, value in entries),
        key=lambda row: (row["key"], row.get("start", 0), row.get("end", 0)),
    )


def _row(key: Any, value: Any) -> dict[str, Any]:
    row = {"key": key}
    if isinstance(key, Windowed):
        row = {"key": key.key, "start": key.start, "end": key.end}
    if isinstance(value, ValueAndTimestamp):
        return {**row, "value": value.value, "timestamp": value.timestamp}
    return {**row, "value": value}
