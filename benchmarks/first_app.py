"""What `headrace run` is given to time the way to its first output."""

from __future__ import annotations

from benchmarks.workloads import w1

topology = w1("first-in", "first-out")
