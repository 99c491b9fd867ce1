"""Counts that users' processors keep."""

from __future__ import annotations

from collections import Counter


class Counts:
    """What was counted since the host has last taken it: with the batch, so that one that fails counts for nothing."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: Counter[str] = Counter()

    def add(self, name: str, amount: int = 1) -> None:
        """Count."""
        self._values[name] += amount

    def take(self) -> dict[str, int]:
        """Everything counted since the last call."""
        taken, self._values = dict(self._values), Counter()
        return taken
