"""`compare`: what a new version of a topology means for the state of the old one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from headrace.errors import InvalidArgumentError, UpgradeError
from headrace.topology.upgrade.changes import Change, Comparison, Level
from headrace.topology.upgrade.matching import match_stores
from headrace.topology.upgrade.rules import rule_changes
from headrace.topology.upgrade.saved import Data, SavedTopology, from_text, load
from headrace.topology.upgrade.stores import store_changes
from headrace.topology.upgrade.tasks import task_changes
from headrace.topology.upgrade.topics import topic_changes


class HasData(Protocol):
    """A `Topology`."""

    def to_data(self) -> dict[str, Any]: ...


Comparable: TypeAlias = "HasData | SavedTopology | str | Path"


def compare(old: Comparable, new: Comparable) -> Comparison:
    """Which changes from the old version to the new one are safe, which move state, and which need a reset, and why.

    Both are a `Topology`, what `load` returns, or the path of a file that `Topology.save` has written.

    >>> from headrace import StreamsBuilder, topology
    >>> def build(filtered):
    ...     builder = StreamsBuilder()
    ...     words = builder.stream("words", value=str)
    ...     if filtered:
    ...         words = words.filter(lambda key, word: word)
    ...     words.group_by_key().count().to_stream().to("counts")
    ...     return builder.build()
    >>> found = topology.compare(build(filtered=False), build(filtered=True))
    >>> print(found.level.words, "-", found.changes[0].fix)
    moves state - give it the old name, for good: `store="KSTREAM-AGGREGATE-STATE-STORE-0000000001"`
    """
    before, now = _saved(old, "old"), _saved(new, "new")
    changes = sorted(_changes(before, now), key=lambda change: (-change.level, change.subject))
    return Comparison(tuple(changes))


def compare_with_kept(kept: bytes, new: Data) -> Comparison:
    """The same for the topology that an application's log has kept, and that of a program as data."""
    try:
        old = from_text(kept.decode(), "the topology that is kept in the log")
    except InvalidArgumentError as error:
        raise UpgradeError(error.message) from error
    return compare(old, SavedTopology(new))


def _saved(given: Comparable, which: str) -> SavedTopology:
    if isinstance(given, SavedTopology):
        return given
    if isinstance(given, str | Path):
        return load(given)
    if not hasattr(given, "to_data"):
        raise InvalidArgumentError(
            f"`compare` takes a topology, a loaded one or a path as `{which}`, got {given!r}: "
            "call `builder.build()` first"
        )
    return SavedTopology(given.to_data())


def _changes(old: SavedTopology, new: SavedTopology) -> Iterator[Change]:
    before, now = old.data["optimization"], new.data["optimization"]
    if before != now:
        yield Change(
            Level.SAFE,
            "optimization",
            f"was {_listed(before)}, and is {_listed(now)}: what it means for stores and tasks is told there",
        )
    matched = match_stores(old, new)
    yield from store_changes(old, new, matched)
    yield from rule_changes(old, new)
    yield from task_changes(old, new, matched)
    yield from topic_changes(old, new)


def _listed(optimizations: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in optimizations) or "none"
