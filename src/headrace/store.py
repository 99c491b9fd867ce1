"""Stores of the user's own: what one is, and what it may ask of the task around it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from headrace.record import TaskId


class Rows(Protocol):
    """The bytes of a store, in the order of the keys. They are the store's changelog, compacted: what is put here is
    committed with the batch, gone if the batch fails, and there again wherever the task goes on.
    """

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, or None."""
        ...

    def put(self, key: bytes, value: bytes | None, *, timestamp: int | None = None) -> None:
        """Set a value, and log it; None deletes. Its time in the changelog is that of the record at hand."""
        ...

    def delete(self, key: bytes) -> None:
        """Remove a key, and log that."""
        ...

    def range(
        self, low: bytes | None = None, high: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """The rows with low <= key < high (None: no bound), as they are now."""
        ...

    def prefix(self, prefix: bytes, *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """The rows whose key begins with the prefix."""
        ...

    def count(self) -> int:
        """About how many rows there are."""
        ...


class StateStoreContext(Protocol):
    """What a store may ask of the task that it belongs to."""

    @property
    def application_id(self) -> str: ...
    @property
    def task_id(self) -> TaskId: ...
    @property
    def state_dir(self) -> Path:
        """A folder of the task on this host's disk, made when it is asked for. Its files are no part of a commit, and
        stay behind when the task moves: keep there only what can be made again from the rows.
        """
        ...

    @property
    def rows(self) -> Rows:
        """What the store keeps for good."""
        ...


class StateStore:
    """A store of your own, made anew for each task: pass the class to `custom_store`, and give it any methods you like.

    What it puts into `self.rows` is its changelog, so it is kept exactly once with everything else. The easy way is to
    keep all of it there and nothing anywhere else. A store may as well keep what it likes in memory: then it puts every
    change into the rows, too, and reads them in `restore`, from which it has to come out as it was.

    >>> from headrace import Processor, StateStore, StreamsBuilder, custom_store
    >>> from headrace.testing import TopologyTestDriver
    >>> class Highest(StateStore):
    ...     def offer(self, key: str, number: int) -> int:
    ...         best = max(number, int(self.rows.get(key.encode()) or 0))
    ...         self.rows.put(key.encode(), b"%d" % best)
    ...         return best
    >>> class Best(Processor[str, int, str, int]):
    ...     def process(self, record):
    ...         best = self.context.get_state_store("highest").offer(record.key, record.value)
    ...         self.context.forward(record.with_value(best))
    >>> builder = StreamsBuilder().add_state_store(custom_store("highest", Highest))
    >>> builder.stream("in", value=int).process(Best, stores=["highest"]).to("out")
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.input("in").pipe("a", 3)
    ...     driver.restart()
    ...     driver.input("in").pipe("a", 2)
    ...     driver.output("out").read_values()
    [3, 3]
    """

    context: StateStoreContext
    rows: Rows

    def init(self, context: StateStoreContext) -> None:
        """Called once, first of all; an override must call this, or keep what it needs."""
        self.context = context
        self.rows = context.rows

    def restore(self, rows: Iterator[tuple[bytes, bytes]]) -> None:
        """Called once after `init`, before any record, with all rows of the last commit in the order of their keys.

        A store that keeps something beside its rows makes it from them here. When a batch has failed, or the task has
        moved, there is a new store, and this is how it gets to know what the old one knew at the last commit.
        """

    def flush(self) -> None:
        """Called before every commit: the last chance to put what was held back into the rows."""

    def close(self) -> None:
        """Called once, at the end."""
