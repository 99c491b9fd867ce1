"""The topologies of `conformance/cases`, written again in Python, by scenario name."""

from __future__ import annotations

from collections.abc import Callable

from semantics.scenarios import (
    aggregates,
    cogroups,
    joins,
    processors,
    stateless,
    stream_joins,
    table_joins,
    tables,
    windows,
)

from headrace import StreamsBuilder, StreamsConfig, Topology, log_and_continue

FAMILIES = (stateless, aggregates, cogroups, windows, joins, stream_joins, processors, table_joins, tables)

SCENARIOS: dict[str, Callable[[StreamsBuilder], Topology | None]] = {
    name: build for family in FAMILIES for name, build in family.SCENARIOS.items()
}

CONFIGS: dict[str, StreamsConfig] = {
    "errors_continue_dead_letters": StreamsConfig(
        application_id="oracle",
        default_value=str,
        deserialization_handler=log_and_continue,
        processing_handler=log_and_continue,
        dead_letter_topic="dead",
    )
}
DEFAULT_CONFIG = StreamsConfig(application_id="oracle", default_value=str)


def topology_of(name: str) -> Topology:
    """A scenario's topology, built anew."""
    builder = StreamsBuilder()
    by_hand = SCENARIOS[name](builder)
    return builder.build() if by_hand is None else by_hand


def config_of(name: str) -> StreamsConfig:
    """The settings of a scenario; Kafka's defaults there are string serdes."""
    return CONFIGS.get(name, DEFAULT_CONFIG)
