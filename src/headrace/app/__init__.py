"""A running application: its life, its errors, and its stores while it runs."""

from __future__ import annotations

from headrace.app.states import State
from headrace.app.streams import Streams
from headrace.spark.session import spark_settings

__all__ = ["State", "Streams", "spark_settings"]
