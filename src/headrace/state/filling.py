"""Filling stores from their changelogs, in portions: each is written to disk with how far it leads."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from headrace.failpoints import failpoint
from headrace.state.disk import Disk, Writer
from headrace.state.replay import replay_many
from headrace.state.stamps import Accepted, ChangelogChunk, Filling, Held, ReadChangelog, Watch
from headrace.topology.stores import StoreSpec

if TYPE_CHECKING:
    from headrace.state.bulk import Bulk

# A catch-up is written to disk in portions of this size, and goes on from there after a crash.
_PORTION_RECORDS = 100_000
_PORTION_BYTES = 32 * 1024 * 1024
# From so many offsets on, records are sorted in columns; these portions are larger, since only the first one finds an
# empty store.
_LEAST_BULK = 20_000
_BULK_RECORDS = 2_000_000
_BULK_BYTES = 128 * 1024 * 1024


class Filler:
    """Brings the stores of one task from some offsets of their changelogs to those that were accepted."""

    def __init__(
        self, disk: Disk, specs: Mapping[str, StoreSpec], held: Held, ends: Mapping[str, int], watch: Watch
    ) -> None:
        self._disk = disk
        self._specs = specs
        self._held = held
        self._reached = {name: end for name, end in ends.items() if name in specs}
        self._watch = watch
        self._records = self._bytes = 0
        """Of the portion that is not written yet."""

    def fill(self, accepted: Accepted, read_changelog: ReadChangelog) -> list[Filling]:
        """Fill all stores; returns what each of them took."""
        self._disk.bind()
        self._disk.load_marks()
        filled: list[Filling] = []
        for name, end in accepted.ends.items():
            start = self._reached.get(name, 0)
            if name not in self._specs or start >= end:
                continue
            filling = Filling(name, start, end, start, began=time.perf_counter())
            filled.append(filling)
            self._watch(filling)
            chunks = iter(read_changelog(name, start, end))
            bulk = self._bulk(filling)
            rest = chunks if bulk is None else self._in_bulk(filling, bulk, chunks)
            self._one_by_one(filling, rest)
            self._reached[name] = end
            filling.reach(end)
            self._watch(filling)
        self._disk.write(msgspec.structs.replace(self._held, ends=dict(accepted.ends)), undo=False)
        return filled

    def _bulk(self, filling: Filling) -> Bulk | None:
        if filling.end - filling.start < _LEAST_BULK:
            return None
        # Lazy: Arrow and NumPy are there anyway where a log is, but not for whoever only tests a topology.
        from headrace.state.bulk import Bulk, takes_bulk

        spec = self._specs[filling.store]
        return Bulk(spec, self._disk.backends[spec.name]) if takes_bulk(spec) else None

    def _in_bulk(
        self, filling: Filling, bulk: Bulk, chunks: Iterable[ChangelogChunk]
    ) -> Iterable[ChangelogChunk]:
        """Fill a store in columns; returns the chunks from the first one on for which that does not work."""
        chunks = iter(chunks)
        for chunk in chunks:
            if not bulk.add(chunk):
                self._write_bulk(filling, bulk)
                return _chained(chunk, chunks)
            self._move(filling, chunk)
            failpoint("restore.chunk")
            if bulk.records >= _BULK_RECORDS or bulk.bytes >= _BULK_BYTES:
                self._write_bulk(filling, bulk)
        self._write_bulk(filling, bulk)
        return ()

    def _write_bulk(self, filling: Filling, bulk: Bulk) -> None:
        if not bulk.records:
            return
        # What other stores have changed meanwhile goes along: in the same transaction, so that the ends are true.
        portion = bulk.take()
        records, size, at = filling.records, filling.bytes, filling.at
        reached = self._reached[filling.store]

        def tell(part: float) -> None:
            filling.records = records + round(part * portion.records)
            filling.bytes = size + round(part * portion.bytes)
            filling.reach(at + int(part * (min(reached, filling.end - 1) - at)))
            self._watch(filling)

        self._write_portion({filling.store: lambda txn, db: portion.write(txn, db, tell)}, portion.bytes)
        filling.records, filling.bytes = records + portion.records, size + portion.bytes

    def _one_by_one(self, filling: Filling, chunks: Iterable[ChangelogChunk]) -> None:
        apply = replay_many(self._specs[filling.store], self._disk.backends[filling.store])
        for chunk in chunks:
            size = apply(chunk.keys, chunk.values, chunk.timestamps)
            self._bytes += size
            self._records += len(chunk.keys)
            self._move(filling, chunk)
            if self._records >= _PORTION_RECORDS or self._bytes >= _PORTION_BYTES:
                self._write_portion({})
            failpoint("restore.chunk")
            filling.records += len(chunk.keys)
            filling.bytes += size
            filling.reach(min(self._reached.get(filling.store, filling.start), filling.end - 1))
            self._watch(filling)

    def _move(self, filling: Filling, chunk: ChangelogChunk) -> None:
        if len(chunk.offsets):
            self._reached[filling.store] = int(chunk.offsets[-1]) + 1

    def _write_portion(self, more: Mapping[str, Writer], need: int = 0) -> None:
        portion = msgspec.structs.replace(self._held, ends=dict(self._reached), filling=True)
        self._disk.write(portion, undo=False, more=more, need=need)
        self._records = self._bytes = 0


def _chained(first: ChangelogChunk, rest: Iterable[ChangelogChunk]) -> Iterable[ChangelogChunk]:
    yield first
    yield from rest
