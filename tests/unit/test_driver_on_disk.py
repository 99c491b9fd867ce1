"""The driver with its stores on disk, and over long runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import StreamsBuilder
from headrace.errors import LogError
from headrace.testing import TopologyTestDriver, disk
from headrace.testing import driver as driver_module
from headrace.topology.topology import Topology


def counting() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).group_by_key().count(store="counts").to_stream().to("out")
    return builder.build()


def run(topology: Topology, state_dir: Path | None) -> tuple[list[object], list[object]]:
    with TopologyTestDriver(topology, state_dir=state_dir) as driver:
        for number in range(50):
            driver.input("in").pipe(f"k{number % 7}", "x", timestamp=number)
        return driver.output("out").read_records(), list(driver.store("counts").all())


def test_stores_on_disk_give_the_answers_of_those_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the disk is written in between, and when an older run has left something there."""
    monkeypatch.setattr(disk, "STEPS", 8)
    wanted = run(counting(), None)
    assert run(counting(), tmp_path) == wanted
    assert run(counting(), tmp_path) == wanted
    assert any(tmp_path.rglob("*.mdb"))


def test_unread_records_of_internal_topics_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads too late is told so, instead of missing some."""
    monkeypatch.setattr(driver_module, "KEPT", 10)
    changelog = "topology-test-driver-counts-changelog"
    with TopologyTestDriver(counting()) as driver:
        for number in range(9):
            driver.input("in").pipe(f"k{number}", "x")
        assert driver.output(changelog, value=int).queue_size() == 9
        driver.input("in").pipe("a", "x")
        driver.input("in").pipe("b", "x")
        assert changelog in driver.produced_topic_names()
        with pytest.raises(LogError, match="only the last 10 records are kept"):
            driver.output(changelog, value=int).read_value()
        assert len(driver.output("out").read_values()) == 11
