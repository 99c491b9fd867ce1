"""Bringing local stores to what the log says is true, with as little work as possible."""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from headrace.errors import OffsetOutOfRangeError, StoreError
from headrace.state.copies import FindCopies, look, nowhere
from headrace.state.disk import Disk
from headrace.state.filling import Filler
from headrace.state.stamps import Accepted, Filling, Held, ReadChangelog, Recovery, Stamp, Watch, layout
from headrace.state.table import DAMAGE
from headrace.topology.stores import StoreSpec

# Reading so many records takes no longer than copying a file.
_WORTH_A_COPY = 1_000

logger = logging.getLogger("headrace")

_Kind: TypeAlias = Literal["same", "undone", "caught_up", "taken_over", "rebuilt", "empty"]


def unwatched(filling: Filling) -> None:
    """Nobody wants to know how far a store is filled."""


class Recoverer:
    """Decides, from what the files hold and what the log says, how to get from the one to the other.

    The stamp is the accepted one: nothing to do. Otherwise the last local commit is taken back if that is possible:
    its base was an accepted one. From there the changelogs are read from the base's ends to the accepted ends. What
    is of another incarnation, damaged, too old or of unknown origin is thrown away and read from the start.
    """

    def __init__(
        self,
        disk: Disk,
        specs: Mapping[str, StoreSpec],
        clock: Callable[[], int],
        stale_after_ms: int,
        copies: FindCopies = nowhere,
    ) -> None:
        self._disk = disk
        self._specs = specs
        self._clock = clock
        self._stale_after_ms = stale_after_ms
        self._copies = copies
        self._layouts = {name: layout(spec) for name, spec in specs.items()}

    def recover(
        self, accepted: Accepted, read_changelog: ReadChangelog, watch: Watch = unwatched
    ) -> Recovery:
        """Bring the stores to what is accepted."""
        started = time.perf_counter()
        try:
            kind, filled = self._recover(accepted, read_changelog, watch)
        except (*DAMAGE, msgspec.DecodeError, struct.error) as error:
            self._disk.discard(error)
            kind, filled = self._recover(accepted, read_changelog, watch)
        records, size = sum(store.records for store in filled), sum(store.bytes for store in filled)
        return Recovery(kind, records, size, time.perf_counter() - started, tuple(filled))

    def _recover(
        self, accepted: Accepted, read_changelog: ReadChangelog, watch: Watch
    ) -> tuple[_Kind, list[Filling]]:
        disk = self._disk
        kind, ends = self._go_back(disk.open(), accepted)
        ends = self._drop_outdated(ends)
        filled: list[Filling] = []
        if self._is_behind(ends, accepted):
            if self._take_over(ends, accepted):
                _, ends = self._go_back(disk.open(), accepted)
                ends = self._drop_outdated(ends)
                kind = "taken_over"
            elif kind != "rebuilt":
                kind = "caught_up"
        if self._is_behind(ends, accepted):
            try:
                filled = self._fill(ends, accepted, read_changelog, watch)
            except OffsetOutOfRangeError:
                if not any(ends.values()):
                    raise
                kind = "rebuilt"
                disk.clear()
                filled = self._fill({}, accepted, read_changelog, watch)
        elif kind == "rebuilt" and accepted.stamp is None:
            kind = "empty"
        disk.bind()
        disk.load_marks()
        return kind, filled

    def holds(self, accepted: Accepted) -> bool:
        """Whether nothing would have to be done."""
        try:
            held = self._disk.open()
        except (*DAMAGE, msgspec.DecodeError, struct.error):
            return False
        return _holds(held, accepted) and (accepted.stamp is None or held.layouts == self._layouts)

    def held(self, stamp: Stamp | None) -> Held:
        """What is held after a commit: to be completed with its base or its ends."""
        return Held(stamp, layouts=self._layouts, written_ms=self._clock())

    def _go_back(self, held: Held, accepted: Accepted) -> tuple[_Kind, dict[str, int]]:
        """Go back as far as must be; returns the changelog ends to go on from."""
        if _holds(held, accepted):
            return "same", dict(accepted.ends)
        kind: _Kind = "rebuilt"
        if held.base is not None:
            held, kind = self._disk.undo(), "undone"
            if _holds(held, accepted):
                return kind, dict(accepted.ends)
        if held.ends is not None and self._may_catch_up(held, accepted):
            return "rebuilt" if held.stamp is None else "caught_up", dict(held.ends)
        if held.stamp is not None or held.filling or held.ends is None:
            self._disk.clear()
        return "rebuilt", {}

    def _take_over(self, ends: Mapping[str, int], accepted: Accepted) -> bool:
        """Take a standby's copy over, if there is one from which much less has to be read than from here."""
        left = self._to_read(ends, accepted)
        found: tuple[int, Path] | None = None
        for folder in self._copies() if left >= _WORTH_A_COPY else ():
            held = look(folder)
            if held is None or held.base is not None or held.filling:
                continue
            if not _holds(held, accepted) and not self._may_catch_up(held, accepted):
                continue
            same = {
                name: end for name, end in (held.ends or {}).items() if self._is_laid_out_like(held, name)
            }
            rest = self._to_read(same, accepted)
            if left - rest >= _WORTH_A_COPY and (found is None or rest < found[0]):
                found = rest, folder
        if found is None:
            return False
        try:
            self._disk.take_over(found[1])
        except (StoreError, OSError) as error:
            logger.warning("the standby's copy in `%s` could not be taken over: %s", found[1], error)
            return False
        logger.info("took the standby's copy in `%s` over for `%s`", found[1], self._disk.path)
        return True

    def _to_read(self, ends: Mapping[str, int], accepted: Accepted) -> int:
        return sum(
            max(0, end - ends.get(name, 0)) for name, end in accepted.ends.items() if name in self._specs
        )

    def _is_laid_out_like(self, held: Held, name: str) -> bool:
        return name in self._layouts and held.layouts.get(name) == self._layouts[name]

    def refresh(self) -> None:
        """Say that the stores were up to date now: what has not changed for long is not old."""
        held = self._disk.held
        if held.base is None and held.ends is not None and not held.filling:
            self._disk.write(msgspec.structs.replace(held, written_ms=self._clock()), undo=False)

    def _may_catch_up(self, held: Held, accepted: Accepted) -> bool:
        if accepted.stamp is None or held.ends is None:
            return False
        if any(end > accepted.ends.get(name, 0) for name, end in held.ends.items() if name in self._specs):
            return False
        if held.stamp is None:
            return True
        if held.stamp.incarnation != accepted.stamp.incarnation or held.stamp.commit > accepted.stamp.commit:
            return False
        if held.stamp.commit == accepted.stamp.commit and not held.filling:
            return False
        # Tombstones are compacted away after a time: a copy from before would keep deleted keys.
        return self._clock() - held.written_ms <= self._stale_after_ms

    def _drop_outdated(self, ends: dict[str, int]) -> dict[str, int]:
        """Empty the stores whose layout has changed, and those that are no longer part of the task."""
        held = self._disk.held
        outdated = {name for name, old in held.layouts.items() if self._layouts.get(name) != old}
        if outdated:
            self._disk.clear(outdated)
        new = self._layouts.keys() - held.layouts.keys()
        return {name: end for name, end in ends.items() if name not in outdated | new}

    def _is_behind(self, ends: Mapping[str, int], accepted: Accepted) -> bool:
        if accepted.stamp is None:
            return False
        held = self._disk.held
        if held.stamp != accepted.stamp or held.filling or held.layouts != self._layouts:
            return True
        return any(ends.get(name, 0) < end for name, end in accepted.ends.items() if name in self._specs)

    def _fill(
        self, ends: Mapping[str, int], accepted: Accepted, read_changelog: ReadChangelog, watch: Watch
    ) -> list[Filling]:
        filler = Filler(self._disk, self._specs, self.held(accepted.stamp), ends, watch)
        return filler.fill(accepted, read_changelog)


def _holds(held: Held, accepted: Accepted) -> bool:
    if held.filling or held.stamp != accepted.stamp:
        return False
    # Without a stamp, nothing was ever committed: the stores must be as they were made.
    return held.stamp is not None or held.ends is not None
