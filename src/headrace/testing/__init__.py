"""Testing a topology without Spark or Kafka."""

from __future__ import annotations

from headrace.testing.clock import ManualClock
from headrace.testing.driver import TopologyTestDriver
from headrace.testing.record import TestRecord
from headrace.testing.topics import TestInputTopic, TestOutputTopic

__all__ = ["ManualClock", "TestInputTopic", "TestOutputTopic", "TestRecord", "TopologyTestDriver"]
