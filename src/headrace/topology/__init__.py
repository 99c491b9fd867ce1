"""The processing graph: nodes, stores, sub-topologies, how to show them, and how to compare two versions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.topology.upgrade.changes import Change, Comparison, Level
    from headrace.topology.upgrade.comparing import compare
    from headrace.topology.upgrade.saved import SavedTopology, load

__all__ = ["Change", "Comparison", "Level", "SavedTopology", "compare", "load"]

_PLACES = {
    "Change": "changes",
    "Comparison": "changes",
    "Level": "changes",
    "SavedTopology": "saved",
    "compare": "comparing",
    "load": "saved",
}


def __getattr__(name: str) -> Any:
    # Every program imports this package, and few compare topologies: the upgrade check comes when it is asked for.
    if name in _PLACES:
        return getattr(import_module(f"headrace.topology.upgrade.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
