"""A running application: its life, its errors, and its stores while it runs."""

from __future__ import annotations

from headrace.app.metadata import KeyQueryMetadata, LagInfo, StreamsMetadata, TaskMetadata, ThreadMetadata
from headrace.app.metrics import Metrics
from headrace.app.named import MetricName
from headrace.app.restoring import StateRestoreListener
from headrace.app.states import State
from headrace.app.streams import Streams
from headrace.spark.session import spark_settings

__all__ = [
    "KeyQueryMetadata",
    "LagInfo",
    "MetricName",
    "Metrics",
    "State",
    "StateRestoreListener",
    "Streams",
    "StreamsMetadata",
    "TaskMetadata",
    "ThreadMetadata",
    "spark_settings",
]
