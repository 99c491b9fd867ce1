"""The topology of a user's module, wherever it is asked for: on the command line, or in a worker that imports it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from headrace.errors import HeadraceError, StartError
from headrace.origin import NOWHERE, raised_at
from headrace.topology.topology import Topology

_END = "end the file with `topology = builder.build()`"


def topology_of(module: ModuleType) -> Topology:
    """The module's `topology`; or what a function of that name builds, or what was left in a `builder`."""
    found = getattr(module, "topology", None)
    build = getattr(getattr(module, "builder", None), "build", None)
    if isinstance(found, Topology):
        return found
    if callable(found):
        found = _called(module, "topology()", found)
    elif found is None and callable(build):
        found = _called(module, "builder.build()", lambda: build(optimization=_optimization(module)))
    if isinstance(found, Topology):
        return found
    if found is None:
        raise StartError(f"`{module.__name__}` has no topology: {_END}")
    raise StartError(f"`topology` of `{module.__name__}` is no topology, got {found!r}: {_END}")


def _called(module: ModuleType, what: str, build: Callable[[], Any]) -> Any:
    try:
        return build()
    except HeadraceError:
        raise
    except Exception as error:
        at = raised_at(error)
        raise StartError(
            f"`{what}` of `{module.__name__}` raised {type(error).__name__}: {error}",
            origin=None if at == NOWHERE else at,
        ) from error


def _optimization(module: ModuleType) -> Any:
    """What the settings beside the builder ask for."""
    config = getattr(module, "config", None)
    name = "topology_optimization"
    wanted = config.get(name) if isinstance(config, dict) else getattr(config, name, None)
    return wanted or "none"
