"""What each operator means, per record, compiled into closures; knows nothing of Spark."""

from __future__ import annotations

from headrace.processors import (
    aggregate,
    asynchronous,
    custom,
    deduplicate,
    foreign_key,
    joins,
    self_join,
    sessions,
    sliding,
    stateless,
    stream_joins,
    suppress,
    table_groups,
    table_joins,
    table_values,
    tables,
    windowed,
)
from headrace.processors.context import Cell, NodeContext, Process, TaskContext
from headrace.processors.registry import build, implemented, implements

__all__ = [
    "Cell",
    "NodeContext",
    "Process",
    "TaskContext",
    "aggregate",
    "asynchronous",
    "build",
    "custom",
    "deduplicate",
    "foreign_key",
    "implemented",
    "implements",
    "joins",
    "self_join",
    "sessions",
    "sliding",
    "stateless",
    "stream_joins",
    "suppress",
    "table_groups",
    "table_joins",
    "table_values",
    "tables",
    "windowed",
]
