"""The topologies of `conformance/cases`, written again in Python, by scenario name.

A module here is a family, found by its name: `SCENARIOS` has its topologies, `CONFIGS` the settings of those that need
their own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from headrace import StreamsBuilder, StreamsConfig, Topology

FAMILIES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]

SCENARIOS: dict[str, Callable[[StreamsBuilder], Topology | None]] = {
    name: build for family in FAMILIES for name, build in getattr(family, "SCENARIOS", {}).items()
}
CONFIGS: dict[str, StreamsConfig] = {
    name: config for family in FAMILIES for name, config in getattr(family, "CONFIGS", {}).items()
}
DEFAULT_CONFIG = StreamsConfig(application_id="oracle", default_value=str)


def topology_of(name: str, *, persistent: bool = True) -> Topology:
    """A scenario's topology, built anew."""
    builder = StreamsBuilder(persistent=persistent)
    by_hand = SCENARIOS[name](builder)
    optimization = config_of(name).topology_optimization or "none"
    return builder.build(optimization=optimization) if by_hand is None else by_hand


def config_of(name: str) -> StreamsConfig:
    """The settings of a scenario; Kafka's defaults there are string serdes."""
    return CONFIGS.get(name, DEFAULT_CONFIG)
