"""A topology as plain data: all that a picture, a tool or an upgrade check needs, in types that JSON knows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeAlias

from headrace.offset_reset import as_text
from headrace.origin import NOWHERE, Origin
from headrace.serdes.described import describe_serde
from headrace.topology.describe import parents_of
from headrace.topology.nodes import (
    GlobalStoreNode,
    Node,
    ProcessorNode,
    RepartitionTopic,
    SinkNode,
    SubTopology,
)
from headrace.topology.stores import StoreSpec

FORMAT = "headrace-topology"
VERSION = 1
"""Of the format. A program reads what it and older ones have written."""

Data: TypeAlias = dict[str, Any]


def data(
    subs: Sequence[SubTopology],
    global_stores: Sequence[GlobalStoreNode],
    repartitions: Iterable[RepartitionTopic],
    optimizations: Iterable[str],
    *,
    origins: bool = True,
) -> Data:
    """The whole topology. Without `origins` nothing in it depends on where the program's files and lines are."""
    found = {
        "format": FORMAT,
        "version": VERSION,
        "optimization": sorted(optimizations),
        "subtopologies": [
            {
                "id": sub.id,
                "nodes": [_node(node, sub.nodes) for node in sub.nodes],
                "stores": [_store(store) for store in sub.stores],
            }
            for sub in subs
        ],
        "global_stores": [
            {
                "store": _store(node.store),
                "topic": node.source.topics[0],
                "nodes": [_node(n, (node.source, node.processor)) for n in (node.source, node.processor)],
            }
            for node in global_stores
        ],
        "repartition_topics": [
            {"name": topic.name, "partitions": topic.partitions} for topic in repartitions
        ],
    }
    return found if origins else _without_origins(found)


def canonical(data: Data) -> str:
    """The text of a file: the same data, the same text, one thing per line."""
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _without_origins(item: Any) -> Any:
    if isinstance(item, dict):
        return {name: _without_origins(value) for name, value in item.items() if name != "origin"}
    return [_without_origins(each) for each in item] if isinstance(item, list) else item


def _node(node: Node, nodes: Iterable[Node]) -> Data:
    common: Data = {
        "name": node.name,
        "parents": list(parents_of(node)),
        "children": [other.name for other in nodes if node.name in parents_of(other)],
        "origin": _origin(node.origin),
    }
    if isinstance(node, ProcessorNode):
        return {
            "type": "processor",
            **common,
            "operator": type(node.operator).__name__,
            "settings": _settings(node),
            "stores": list(node.stores),
        }
    common |= {"key": describe_serde(node.key), "value": describe_serde(node.value)}
    if isinstance(node, SinkNode):
        return {"type": "sink", **common, "topic": node.topic, "internal": node.repartition}
    return {
        "type": "source",
        **common,
        "topics": list(node.topics),
        "pattern": None if node.pattern is None else node.pattern.pattern,
        "internal": node.repartition,
        "offset_reset": as_text(node.offset_reset),
    }


def _settings(node: ProcessorNode) -> Data:
    """What an operator was given beside functions: windows, options, names of stores."""
    given = {field.name: getattr(node.operator, field.name) for field in fields(node.operator)}
    return {name: _plain(value) for name, value in given.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if is_dataclass(value) and not isinstance(value, type):  # a class may be given as a function
        return all(_is_plain(getattr(value, field.name)) for field in fields(value))
    return value is None or isinstance(value, int | float | str | Enum)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        found = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__name__, **found}
    return value


def _store(store: StoreSpec) -> Data:
    found: Data = {}
    for field in fields(store):
        value = getattr(store, field.name)
        if field.name in ("key", "value"):
            found[field.name] = describe_serde(value)
        elif field.name == "origin":
            found["origin"] = _origin(value)
        elif field.name == "log_config":
            found["log_config"] = dict(value)
        elif callable(value):
            found[field.name] = (
                f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
            )
        else:
            found[field.name] = _plain(value)
    return found


def _origin(origin: Origin) -> str | None:
    return None if origin == NOWHERE else str(origin)
