"""What the tests of stores share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headrace.log.base import Chunk
from headrace.state.local import Accepted, Stamp


def no_changelog(store: str, start: int, end: int) -> Iterator[Chunk]:
    """For a store that must not need its changelog."""
    raise AssertionError(f"the changelog of `{store}` was read from {start} to {end}")


@dataclass
class Changelogs:
    """The changelogs of a task, as a log would keep them."""

    records: dict[str, list[tuple[bytes, bytes | None, int]]] = field(default_factory=dict)
    reads: list[tuple[str, int, int]] = field(default_factory=list)
    chunk: int = 7

    def publish(self, changes: dict[str, list[tuple[bytes, bytes | None, int]]]) -> None:
        for store, records in changes.items():
            self.records.setdefault(store, []).extend(records)

    def ends(self) -> dict[str, int]:
        return {store: len(records) for store, records in self.records.items()}

    def accepted(self, stamp: Stamp | None) -> Accepted:
        return Accepted(stamp, self.ends())

    def read(self, store: str, start: int, end: int) -> Iterator[Chunk]:
        self.reads.append((store, start, end))
        records = self.records.get(store, [])[start:end]
        for at in range(0, len(records), self.chunk):
            part = records[at : at + self.chunk]
            keys, values, times = zip(*part, strict=True)
            offsets = range(start + at, start + at + len(part))
            yield Chunk(store, 0, offsets, times, keys, values)
