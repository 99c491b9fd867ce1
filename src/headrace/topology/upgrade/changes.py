"""What a comparison finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Level(IntEnum):
    """How much a change asks for, from nothing to everything."""

    SAFE = 0
    """The application goes on as if nothing had happened."""
    MOVES = 1
    """State is left behind, filled anew or forgotten, unless something is done."""
    BREAKS = 2
    """The application goes on, but what it writes cannot be read as before."""
    RESET = 3
    """What is there cannot be used: the application has to start afresh."""

    @property
    def words(self) -> str:
        """For messages."""
        return {
            Level.SAFE: "safe",
            Level.MOVES: "moves state",
            Level.BREAKS: "breaks readers",
            Level.RESET: "needs a reset",
        }[self]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: how much it asks for, what it is about, what is different and why that matters, and the fix."""

    level: Level
    subject: str
    message: str
    fix: str | None = None
    origin: str | None = None
    """Where the new version has it."""

    def __str__(self) -> str:
        at = f" (at {self.origin})" if self.origin else ""
        fix = f"\n    fix: {self.fix}" if self.fix else ""
        return f"{self.level.words}: {self.subject}: {self.message}{at}{fix}"

    def to_data(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "level": self.level.name.lower(),
            "subject": self.subject,
            "message": self.message,
            "fix": self.fix,
            "origin": self.origin,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences between two versions, the worst first."""

    changes: tuple[Change, ...]

    @property
    def level(self) -> Level:
        """That of the worst change."""
        return max((change.level for change in self.changes), default=Level.SAFE)

    @property
    def is_safe(self) -> bool:
        """Whether the new version can simply be started."""
        return self.level is Level.SAFE

    def of(self, level: Level) -> tuple[Change, ...]:
        """The changes of one level."""
        return tuple(change for change in self.changes if change.level is level)

    def __str__(self) -> str:
        if not self.changes:
            return "no difference: safe"
        return "\n".join([*map(str, self.changes), f"altogether: {self.level.words}"])
