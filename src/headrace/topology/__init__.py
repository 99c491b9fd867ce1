"""The processing graph: nodes, stores, sub-topologies, how to show them, and how to compare two versions."""

from __future__ import annotations

from headrace.topology.upgrade.changes import Change, Comparison, Level
from headrace.topology.upgrade.comparing import compare
from headrace.topology.upgrade.saved import SavedTopology, load

__all__ = ["Change", "Comparison", "Level", "SavedTopology", "compare", "load"]
