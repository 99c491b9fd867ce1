"""Runs a sub-topology over records and stores; knows nothing of who hosts it."""

from __future__ import annotations

from headrace.task.globals import global_sub_topology, protect, writable
from headrace.task.output import Output, OutputColumns
from headrace.task.position import Moment
from headrace.task.stores import open_stores
from headrace.task.table_topic import changes_of_topic
from headrace.task.task import StreamTask

__all__ = [
    "Moment",
    "Output",
    "OutputColumns",
    "StreamTask",
    "changes_of_topic",
    "global_sub_topology",
    "open_stores",
    "protect",
    "writable",
]
