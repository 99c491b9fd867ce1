"""Differences between a store of the old version and the same one of the new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.topology.upgrade.changes import Change, Level
from headrace.topology.upgrade.formats import format_changes
from headrace.topology.upgrade.matching import Matched, is_generated
from headrace.topology.upgrade.saved import SavedTopology, Store

_SAME_BYTES = ({"key_value", "timestamped_key_value"}, {"window", "timestamped_window"})
_CACHED = ("persistent", "caching")
"""Settings of the copy on the host alone."""
_LIFETIME = {"ttl_ms", "ttl_clock"}
"""When rows run out."""
_TOLD = {
    "name",
    "kind",
    "key",
    "value",
    "origin",
    "logging",
    "changelog_topic",
    "retention_ms",
    "window_size_ms",
}


_NAMED_BY_THEIR_NODE = {"suppression_buffer": "suppress(...)", "grace_buffer": "join(..., grace=...)"}
"""Kinds of stores that take no `store=`, and what makes them."""


def store_changes(old: SavedTopology, new: SavedTopology, matched: Matched) -> Iterator[Change]:
    """All differences between the stores."""
    for one, other in matched.pairs:
        if one.name != other.name:
            yield _renamed(one, other, old)
        yield from _contents(one, other)
        yield from _windows(one, other)
        yield from _logging(one, other)
        yield from _settings(one, other)
    yield from map(_removed, matched.removed)
    for store in matched.added:
        if store.name in old.stores:
            yield _taken(store, old)
        else:
            yield Change(
                Level.SAFE,
                f"store `{store.name}`",
                "is new, and starts empty: it knows of nothing that was read before",
                origin=store.data.get("origin"),
            )


def _removed(store: Store) -> Change:
    subject, topic = f"store `{store.name}`", f"`<application-id>-{store.name}-changelog`"
    if store.data["kind"] in ("suppression_buffer", "grace_buffer"):
        return Change(
            Level.MOVES,
            subject,
            f"is gone, and what waits in it never comes out: it stays behind in its changelog, {topic}",
            "let a version with a shorter time to wait send it on first, if it matters",
        )
    return Change(
        Level.SAFE,
        subject,
        f"is gone: its rows stay behind in its changelog, {topic}",
        "delete that topic when you are sure",
    )


def _renamed(one: Store, other: Store, old: SavedTopology) -> Change:
    subject, origin = f"store `{one.name}`", other.data.get("origin")
    if other.name in old.stores:
        return Change(
            Level.RESET,
            subject,
            f"is called `{other.name}` now, and that was another store's name: its rows would be taken for these"
            + (_trap(one, other)),
            _name_it(one, other),
            origin,
        )
    return Change(
        Level.MOVES,
        subject,
        f"is called `{other.name}` now, and starts empty: the rows in `<application-id>-{one.name}-changelog` are "
        f"orphaned{_trap(one, other)}",
        _name_it(one, other),
        origin,
    )


def _trap(one: Store, other: Store) -> str:
    if is_generated(one.name) and is_generated(other.name):
        return (
            "; the name is generated, and something that was added or taken away before it moved its number"
        )
    return ""


def _name_it(one: Store, other: Store) -> str:
    if one.name.endswith("-store") and is_generated(one.name):
        return (
            'name the stores of the join with `store="..."`, so that it happens once only, or put what is new behind '
            "the join"
        )
    if (call := _NAMED_BY_THEIR_NODE.get(other.data["kind"])) or "-SUBSCRIPTION-STATE-STORE-" in one.name:
        # Its name follows from that of its operator, and no `name=` makes a generated one.
        if is_generated(one.name):
            call = call or "join(..., on=...)"
            return f'name the operator, `{call[:-1]}, name="...")`: it moves once more, and never again'
        return "give its operator the old `name=`"
    return f'give it the old name, for good: `store="{one.name}"`'


def _taken(store: Store, old: SavedTopology) -> Change:
    owner = old.stores[store.name].owner
    by = "" if owner is None else f" of `{owner.name}`"
    return Change(
        Level.RESET,
        f"store `{store.name}`",
        f"is a new one, but has the name of another{by} in the old version: that one's rows would be taken for its own",
        'name it: `store="..."`',
        store.data.get("origin"),
    )


def _contents(one: Store, other: Store) -> Iterator[Change]:
    subject, origin = f"store `{other.name}`", other.data.get("origin")
    before, now = one.data["kind"], other.data["kind"]
    if before != now:
        if any({before, now} <= same for same in _SAME_BYTES):
            yield Change(
                Level.SAFE, subject, f"was {before}, is {now}: filled anew from its changelog", origin=origin
            )
        else:
            yield Change(
                Level.RESET,
                subject,
                f"was {before}, is {now}: its changelog cannot be read as that",
                "give it a new name, and let it start empty",
                origin,
            )
            return
    for part in ("key", "value"):
        for change in format_changes(one.data[part], other.data[part], part):
            level = Level.SAFE if change.safe else Level.RESET
            fix = change.fix or (None if change.safe else "give the store a new name, and let it start empty")
            yield Change(level, subject, f"{change.path}: {change.message}", fix, origin)
    if one.owner is not None and other.owner is not None and one.owner.operator != other.owner.operator:
        yield Change(
            Level.MOVES,
            subject,
            f"was filled by {one.owner.operator}, and is by {other.owner.operator}: old rows stay as they were made",
            "give it a new name, if they are not to be mixed",
            origin,
        )


def _windows(one: Store, other: Store) -> Iterator[Change]:
    subject, origin = f"store `{other.name}`", other.data.get("origin")
    if not (one.data["retain_duplicates"] and other.data["retain_duplicates"]):
        # Those of a join only say how long its records wait, and are told of the join.
        yield from _sizes(one, other)
    was, is_ = one.data["retention_ms"], other.data["retention_ms"]
    if is_ < was:
        yield Change(
            Level.SAFE,
            subject,
            f"keeps its rows for {is_} ms instead of {was}: older ones are gone",
            origin=origin,
        )
    elif is_ > was:
        setting = "min.compaction.lag.ms" if other.data["kind"] == "versioned" else "retention.ms"
        yield Change(
            Level.MOVES,
            subject,
            f"keeps its rows for {is_} ms instead of {was}: its changelog still forgets after the shorter time",
            f"set `{setting}` of `<application-id>-{other.name}-changelog` to that and a day more",
            origin,
        )


def _sizes(one: Store, other: Store) -> Iterator[Change]:
    """What windows there are is in the keys of the rows."""
    subject, origin = f"store `{other.name}`", other.data.get("origin")
    before, now = (
        _given(store, "windows") or {"size_ms": store.data["window_size_ms"]} for store in (one, other)
    )
    for setting in sorted((before.keys() | now.keys()) - {"type", "grace_ms", "idle_ms"}):
        if before.get(setting) == now.get(setting):
            continue
        told = f"`{setting}` of its windows was {before.get(setting)}, and is {now.get(setting)}"
        if setting in ("size_ms", "difference_ms"):
            why = "old windows in it would have the new size, and both kinds would be mixed"
            level = Level.RESET
        else:
            why, level = "what is in it was made with the old one", Level.MOVES
        yield Change(
            level, subject, f"{told}: {why}", "give the store a new name, and let it start empty", origin
        )


def _given(store: Store, setting: str) -> Any:
    return None if store.owner is None else store.owner.data.get("settings", {}).get(setting)


def _logging(one: Store, other: Store) -> Iterator[Change]:
    subject, origin = f"store `{other.name}`", other.data.get("origin")
    before, now = one.data["changelog_topic"], other.data["changelog_topic"]
    if before != now:
        if now is not None:
            yield Change(
                Level.SAFE,
                subject,
                f"the topic `{now}` is its changelog now: filled anew from it, so the topic must still have all rows",
                f"compact it: `cleanup.policy=compact`; `<application-id>-{other.name}-changelog` is no longer used",
                origin,
            )
        else:
            yield Change(
                Level.RESET,
                subject,
                f"the topic `{before}` was its changelog, and no longer is: its own changelog does not have the rows",
                "keep `reuse.ktable.source.topics` in the optimization",
                origin,
            )
    elif one.data["logging"] and not other.data["logging"]:
        yield Change(
            Level.MOVES,
            subject,
            "has no changelog any more: its rows are only on the host that made them",
            "keep `logging=True`",
            origin,
        )
    elif other.data["logging"] and not one.data["logging"]:
        yield Change(
            Level.MOVES,
            subject,
            "has a changelog now, which does not have the rows from before: a host that lost its copy would miss them",
            "start afresh, if they matter",
            origin,
        )


def _settings(one: Store, other: Store) -> Iterator[Change]:
    """Everything else, whatever kinds of stores there will be."""
    subject, origin = f"store `{other.name}`", other.data.get("origin")
    for setting in sorted((one.data.keys() | other.data.keys()) - _TOLD):
        before, now = one.data.get(setting), other.data.get(setting)
        if before == now:
            continue
        told = f"`{setting}` was {before!r}, and is {now!r}"
        if setting in _CACHED:
            yield Change(Level.SAFE, subject, f"{told}: its changelog stays as it is", origin=origin)
        elif setting in _LIFETIME:
            what = (
                f"{told}: rows from before go by it too, by their own timestamps; those that are gone stay so"
            )
            yield Change(Level.SAFE, subject, what, origin=origin)
        elif setting == "log_config":
            topic = f"<application-id>-{other.name}-changelog"
            yield Change(
                Level.SAFE, subject, f"{told}: `{topic}` keeps its settings", "set them on the topic", origin
            )
        else:
            yield Change(
                Level.MOVES, subject, f"{told}: rows from before were kept by the old rule", None, origin
            )
