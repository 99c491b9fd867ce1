"""Runs applications on Spark and the embedded log, and says what the test driver makes of the same input."""

from __future__ import annotations

from tests.spark.harness.application import Application
from tests.spark.harness.records import Part, Rec, append, by_key, encoded, flat, partition, read_topic
from tests.spark.harness.reference import Reference, reference

__all__ = [
    "Application",
    "Part",
    "Rec",
    "Reference",
    "append",
    "by_key",
    "encoded",
    "flat",
    "partition",
    "read_topic",
    "reference",
]
