"""With a record cache every case gives what it gave without, where the real Kafka Streams says that it does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from semantics.cases import case_of
from semantics.replay import Counts, replay_case
from semantics.scenarios import SCENARIOS, config_of, topology_of


@pytest.mark.parametrize("name", [name for name in SCENARIOS if case_of(name).same_when_cached[0]])
def test_a_cache_that_is_flushed_after_each_record_changes_nothing(name: str) -> None:
    config = replace(config_of(name), statestore_cache_max_bytes=10 * 1024 * 1024)
    case = case_of(name)
    replay_case(case, lambda: topology_of(name), config, Counts(), stores=case.same_when_cached[1])
