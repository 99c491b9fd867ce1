"""A driver's stores on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from headrace.log.base import Chunk
from headrace.state.lmdb import LmdbBackend
from headrace.state.local import Accepted, LocalState, Stamp
from headrace.topology.stores import StoreSpec

STEPS = 20_000
"""The driver commits after each record, but that is what processors see of it: the disk is written now and then."""


class DriverDisk:
    """All persistent stores of a driver, in one environment."""

    def __init__(self, path: Path, specs: Iterable[StoreSpec]) -> None:
        self._local = LocalState(path, [spec for spec in specs if spec.persistent])
        self._accepted = Accepted()
        self._steps = 0
        self._local.prepare(self._accepted, _nothing)

    def backend(self, name: str) -> LmdbBackend:
        """The bytes of a store."""
        return self._local.backend(name)

    def step(self) -> None:
        """A record is done."""
        self._steps += 1
        if self._steps % STEPS == 0:
            stamp = Stamp("driver", self._steps, "only")
            if self._local.commit(stamp, self._accepted):
                self._accepted = Accepted(stamp)
                self._local.prepare(self._accepted, _nothing)

    def close(self) -> None:
        self._local.close()


def _nothing(store: str, start: int, end: int) -> Iterator[Chunk]:
    """No changelog is read: what is on disk is all there is."""
    return iter(())
