"""What the scenarios reach: methods of the DSL, operators, kinds of stores; and what none of them does."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from types import CodeType, FrameType
from typing import Any, get_args

from semantics.scenarios import SCENARIOS, topology_of

import headrace
from headrace.topology.nodes import ProcessorNode
from headrace.topology.operators import Operator
from headrace.topology.stores import StoreKind
from headrace.topology.topology import Topology

BUILDING = (
    headrace.StreamsBuilder,
    headrace.Topology,
    headrace.KStream,
    headrace.BranchedKStream,
    headrace.KGroupedStream,
    headrace.TimeWindowedKStream,
    headrace.SessionWindowedKStream,
    headrace.CogroupedKStream,
    headrace.TimeWindowedCogroupedKStream,
    headrace.SessionWindowedCogroupedKStream,
    headrace.KTable,
    headrace.KGroupedTable,
    headrace.TimeWindows,
    headrace.SlidingWindows,
    headrace.SessionWindows,
    headrace.JoinWindows,
    headrace.UnlimitedWindows,
    headrace.EmitStrategy,
    headrace.Suppressed,
    headrace.BufferConfig,
)
"""The classes with which a topology is built."""
BY_USERS = {
    *(headrace.StreamsBuilder, headrace.Topology, headrace.TimeWindows, headrace.SlidingWindows),
    *(headrace.SessionWindows, headrace.JoinWindows, headrace.UnlimitedWindows),
}
"""Those that users make themselves."""
NOT_FOR_USERS = {
    *(
        "describe",
        "to_data",
        "to_html",
        "starts",
        "add_global",
        "add_node",
        "add_repartition_topic",
        "add_store",
    ),
    *(
        "connect",
        "copartition",
        "copartition_groups",
        "sub_topologies",
        "to_svg",
        "to_mermaid",
        "to_json",
        "save",
    ),
}
"""Methods that tell about a topology, or that only the DSL calls."""
ELSEWHERE = {
    "BufferConfig.with_logging_disabled": "tests/unit/test_unlogged_stores.py",
    "EmitStrategy.on_window_close": "tests/spark/beyond_topologies.py",
    "EmitStrategy.on_window_update": "tests/unit/test_windowed_more.py",
    "KStream.branch": "tests/spark/topologies.py",
    "KStream.deduplicate": "tests/spark/beyond_topologies.py",
    "KStream.map_values_async": "tests/spark/beyond_topologies.py",
    "KStream.print": "tests/spark/stream_topologies.py",
    "Deduplicate": "tests/spark/beyond_topologies.py",
    "MapValuesAsync": "tests/spark/beyond_topologies.py",
    "custom": "tests/spark/test_custom_stores_on_spark.py",
}
"""What no scenario shows, since Kafka Streams has it not, it ends outside of topics, or it changes no result; and who
shows it.
"""


@dataclass(slots=True)
class Coverage:
    """Names by what they are, and how many scenarios reach each."""

    reached: dict[str, dict[str, int]] = field(default_factory=dict)

    def missing(self) -> dict[str, list[str]]:
        """What no scenario reaches."""
        return {
            what: [name for name, count in found.items() if not count] for what, found in self.reached.items()
        }

    def text(self) -> str:
        """As a part of a page."""
        lines = []
        for what, found in self.reached.items():
            missing = self.missing()[what]
            lines.append(
                f"**{what}**: {len(found) - len(missing)} of {len(found)} are in some scenario. "
                + ", ".join(f"`{name}` {count}" for name, count in sorted(found.items()) if count)
                + "."
            )
            if missing:
                shown = (f"`{name}` (see `{ELSEWHERE.get(name, 'nowhere')}`)" for name in sorted(missing))
                lines.append(f"In none: {', '.join(shown)}.")
        return "\n\n".join(lines)


def coverage() -> Coverage:
    """Build all scenarios, and see what is called and what comes out."""
    methods = dict(_methods())
    codes: dict[CodeType, list[str]] = {}
    for name, code in methods.items():
        codes.setdefault(code, []).append(name)
    operators = {each.__name__: 0 for each in _subclasses(Operator)}
    kinds = dict.fromkeys(get_args(StoreKind), 0)
    reached = dict.fromkeys(methods, 0)
    for scenario in SCENARIOS:
        called: set[str] = set()

        def profile(frame: FrameType, event: str, argument: Any, called: set[str] = called) -> None:
            if event == "call" and frame.f_code in codes:
                called.update(_of_class(frame, codes[frame.f_code]))

        sys.setprofile(profile)
        try:
            topology = topology_of(scenario)
        finally:
            sys.setprofile(None)
        for name in called:
            reached[name] += 1
        for name in _operators_of(topology):
            operators[name] = operators.get(name, 0) + 1
        for kind in {spec.kind for spec in topology.stores.values()}:
            kinds[kind] += 1
    return Coverage({"Methods": reached, "Operators": operators, "Kinds of stores": kinds})


def _of_class(frame: FrameType, names: list[str]) -> set[str]:
    """Of methods that classes share, those of the class that was called."""
    first = next(iter(frame.f_locals.values()), None)
    owner = first if isinstance(first, type) else type(first)
    mine = {name for name in names if name.partition(".")[0] in {each.__name__ for each in owner.__mro__}}
    return mine or set(names)


def _methods() -> Iterator[tuple[str, CodeType]]:
    for owner in BUILDING:
        for name, found in inspect.getmembers(owner):
            function = inspect.unwrap(getattr(found, "__func__", found))
            if not inspect.isfunction(function) or "headrace" not in function.__module__:
                continue
            if not name.startswith("_") and name not in NOT_FOR_USERS:
                yield f"{owner.__name__}.{name}", function.__code__
            elif name == ("__post_init__" if is_dataclass(owner) else "__init__") and owner in BY_USERS:
                yield owner.__name__, function.__code__


def _subclasses(of: type) -> Iterator[type]:
    for each in of.__subclasses__():
        yield each
        yield from _subclasses(each)


def _operators_of(topology: Topology) -> set[str]:
    nodes = [*topology.nodes.values(), *(node.processor for node in topology.global_stores)]
    return {type(node.operator).__name__ for node in nodes if isinstance(node, ProcessorNode)}
