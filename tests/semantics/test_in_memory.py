"""With stores in memory every case gives what it gave on disk, where the real Kafka Streams says that it does."""

from __future__ import annotations

import pytest
from semantics.cases import case_of
from semantics.replay import Counts, replay_case
from semantics.scenarios import SCENARIOS, config_of, topology_of
from semantics.scenarios.common import ms

from headrace import Materialized, StreamsBuilder, StreamsConfig, TimeWindows
from headrace.errors import InvalidArgumentError
from headrace.testing import TopologyTestDriver


@pytest.mark.parametrize("name", [name for name in SCENARIOS if case_of(name).same_in_memory[0]])
def test_stores_in_memory_change_no_result_and_no_name(name: str) -> None:
    case, topology = case_of(name), topology_of(name, persistent=False)
    assert str(topology.describe()) == case.describe
    replay_case(
        case,
        lambda: topology_of(name, persistent=False),
        config_of(name),
        Counts(),
        stores=case.same_in_memory[1],
    )


def test_the_builder_says_where_stores_are_unless_they_say_so_themselves() -> None:
    builder = StreamsBuilder(persistent=False)
    words = builder.stream("words", value=str).group_by_key()
    words.count(store="counts")
    words.count(store=Materialized("kept", persistent=True))
    words.windowed_by(TimeWindows(ms(10))).count(store="windows")
    builder.table("prices", value=str, store=Materialized("prices", history_retention=ms(1000)))
    found = {name: spec.persistent for name, spec in builder.build().stores.items()}
    assert found == {"counts": False, "kept": True, "windows": False, "prices": True}


def test_windows_in_memory_are_read_by_time_first() -> None:
    """As Kafka Streams' stores in memory do; those on disk go by key first."""
    builder = StreamsBuilder(persistent=False)
    windows = TimeWindows(ms(10), grace=ms(100))
    builder.stream("words", value=str).group_by_key().windowed_by(windows).count(store="windows")
    with TopologyTestDriver(builder.build(), StreamsConfig(application_id="app")) as driver:
        words = driver.input("words", str, str)
        words.pipe("a", "x", timestamp=10)
        words.pipe("b", "x", timestamp=0)
        rows = driver.get_state_store("windows").fetch_all(0, 10)
        assert [(window.key, window.start) for window, _ in rows] == [("b", 0), ("a", 10)]


def test_where_stores_are_is_yes_or_no() -> None:
    with pytest.raises(InvalidArgumentError, match="`persistent` is True or False, got 'memory'"):
        StreamsBuilder(persistent="memory")  # type: ignore[arg-type]
