"""A fixed sample of the kills of `make chaos`, over all kinds of topologies and both logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.kills import Outcome, run
from tests.chaos.schedule import ANY_TIME, Kill, LogName, Round
from tests.kafka.broker import Broker

SAMPLE = {
    "stateless": [Kill("worker", "read.after"), Kill("planner", ANY_TIME)],
    "aggregating": [Kill("worker", "local_commit.inside"), Kill("worker", ANY_TIME)],
    "windowed": [Kill("worker", "undo.inside"), Kill("driver", "publish.sent"), Kill("worker", "task.after")],
    "joining": [Kill("worker", "local_commit.after"), Kill("planner", "publish.begun")],
    "multi_stage": [Kill("planner", "plan.after"), Kill("driver", "process.after")],
}
KAFKA_SAMPLE = [
    Kill("driver", "publish.sent"),
    Kill("worker", "local_commit.after"),
    Kill("driver", "publish.committed"),
]


def outcome_of(kind: str, log: LogName, kills: list[Kill], folder: Path, servers: str | None) -> Outcome:
    outcome = run(Round(kind, log, tuple(kills), seed=1), folder, servers)
    assert not outcome.why, outcome.why
    assert [result.ok for result in outcome.results] == [True] * len(kills)
    assert outcome.records > 100
    return outcome


@pytest.mark.parametrize("kind", SAMPLE)
def test_nothing_is_lost_and_nothing_is_doubled(kind: str, tmp_path: Path) -> None:
    outcome = outcome_of(kind, "embedded", SAMPLE[kind], tmp_path / "round", None)
    # After a mere crash nothing is rebuilt: the stores on disk go on where they were.
    assert "restored" not in outcome.said
    # Spark 4.3 would leave the query hanging without its planner; it goes on in the same driver.
    planners = [kill for kill in SAMPLE[kind] if kill.victim == "planner"]
    assert outcome.said.count("the Python process that plans batches died") == len(planners)


def test_nothing_is_lost_and_nothing_is_doubled_on_kafka(broker: Broker, tmp_path: Path) -> None:
    outcome = outcome_of("windowed", "kafka", KAFKA_SAMPLE, tmp_path / "round", broker.bootstrap_servers)
    assert "restored" not in outcome.said
