"""A running application: its life, its errors, and its stores while it runs."""

from __future__ import annotations

from headrace.app.states import State
from headrace.app.streams import Streams

__all__ = ["State", "Streams"]
