"""The recorded cases, as `conformance/README.md` describes their files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from headrace import Serde, Serdes
from headrace.serdes import SessionWindowedSerde, TimeWindowedSerde

CASES = Path(__file__).parents[2] / "conformance" / "cases"

Row = list[Any]
"""`[key, value, timestamp, header name, header text, ...]` of a record; a windowed key is `[key, start, end]`."""


@dataclass(frozen=True, slots=True)
class Step:
    """A record that was piped in, or a wall clock that was moved, and what came out by it, by topic."""

    topic: str | None
    record: Row
    advance: int
    outputs: dict[str, list[Row]]

    @property
    def headers(self) -> tuple[tuple[str, bytes], ...]:
        return headers_of(self.record)


@dataclass(frozen=True, slots=True)
class Run:
    """The steps of one seed, and the rows in the stores after the last of them."""

    seed: int
    steps: Sequence[Step]
    stores: dict[str, list[Row]]


@dataclass(frozen=True, slots=True)
class Topic:
    """The kinds of a topic's keys and values."""

    key: str
    value: str
    window_size: int = 0

    def serdes(self) -> tuple[Serde[Any], Serde[Any]]:
        return self._serde(self.key), self._serde(self.value)

    def _serde(self, kind: str) -> Serde[Any]:
        match kind:
            case "string":
                return Serdes.string()
            case "long":
                return Serdes.long()
            case "windowed_string":
                return TimeWindowedSerde(Serdes.string(), self.window_size)
            case "session_windowed_string":
                return SessionWindowedSerde(Serdes.string())
        raise ValueError(kind)


@dataclass(frozen=True, slots=True)
class Case:
    """A topology's recorded runs."""

    scenario: str
    describe: str
    config: dict[str, Any]
    input_topics: dict[str, Topic]
    output_topics: dict[str, Topic]
    stores: dict[str, str]
    has_headers: bool
    commit_every: int
    """How many steps are one commit."""
    same_when_cached: tuple[bool, bool]
    """Whether outputs, and stores, are the same with a record cache."""
    same_in_memory: tuple[bool, bool]
    """The same with stores in memory."""
    runs: Sequence[Run]


@cache
def case_of(name: str) -> Case:
    """A recorded case."""
    return read_case(CASES / f"{name}.json")


def read_case(path: Path) -> Case:
    """A case from its file."""
    read: dict[str, Any] = json.loads(path.read_text())
    return Case(
        scenario=read["scenario"],
        describe="\n".join(read["describe"]),
        config=read["config"],
        input_topics={topic: Topic(**kinds) for topic, kinds in read["input_topics"].items()},
        output_topics={topic: Topic(**kinds) for topic, kinds in read["output_topics"].items()},
        stores=read["stores"],
        has_headers=read["has_headers"],
        commit_every=read.get("commit_every", 1),
        same_when_cached=tuple(read["variants"].get("cache_10m", {}).values()),
        same_in_memory=tuple(read["variants"].get("in_memory", {}).values()),
        runs=[
            Run(run["seed"], [_step(*step) for step in run["steps"]], run["stores"]) for run in read["runs"]
        ],
    )


def _step(done: Any, *written: Any) -> Step:
    outputs: dict[str, list[Row]] = {}
    for topic, *record in written:
        outputs.setdefault(topic, []).append(record)
    if isinstance(done, int):
        return Step(None, [], done, outputs)
    topic, *record = done
    return Step(topic, record, 0, outputs)


def headers_of(record: Row) -> tuple[tuple[str, bytes], ...]:
    """The headers of a record in a case."""
    return tuple((name, text.encode()) for name, text in zip(record[3::2], record[4::2], strict=True))
