"""How a topology runs on Spark: what is read, which sub-topology runs in which stage, and what a commit writes."""

from __future__ import annotations

from headrace.spark.explain.explanation import Explanation, explain

__all__ = ["Explanation", "explain"]
