"""Differences between what is read and written: sources, sinks, global tables and internal topics."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.topology.upgrade.changes import Change, Level
from headrace.topology.upgrade.formats import format_changes
from headrace.topology.upgrade.saved import Node, SavedTopology


def topic_changes(old: SavedTopology, new: SavedTopology) -> Iterator[Change]:
    """All differences between the topics."""
    yield from _source_changes(old, new)
    yield from _sink_changes(old, new)
    yield from _global_changes(old, new)
    yield from _repartition_changes(old, new)


def _sources(topology: SavedTopology) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for node in topology.nodes.values():
        if node.kind == "source" and not node.data["internal"]:
            pattern = node.data["pattern"]
            found |= dict.fromkeys([*node.data["topics"], *([f"/{pattern}/"] if pattern else ())], node)
    return found


def _source_changes(old: SavedTopology, new: SavedTopology) -> Iterator[Change]:
    before, now = _sources(old), _sources(new)
    for topic in before.keys() - now.keys():
        yield Change(
            Level.SAFE,
            f"topic `{topic}`",
            "is no longer read; the position in it is kept, should it come back",
        )
    for topic in now.keys() - before.keys():
        begin = _beginning(now[topic].data["offset_reset"])
        yield Change(
            Level.SAFE,
            f"topic `{topic}`",
            f"is new, and read {begin}",
            origin=now[topic].data.get("origin"),
        )
    for topic in before.keys() & now.keys():
        for part in ("key", "value"):
            one, other = before[topic].data[part], now[topic].data[part]
            for change in format_changes(one, other, part):
                yield Change(
                    Level.SAFE if change.safe else Level.RESET,
                    f"topic `{topic}`",
                    f"{change.path}: {change.message}",
                    change.fix,
                    now[topic].data.get("origin"),
                )


def _beginning(offset_reset: str | None) -> str:
    if offset_reset == "none":
        return 'by nobody: with `offset_reset="none"` the application does not start'
    if offset_reset == "latest":
        return "from its end"
    if offset_reset in (None, "earliest"):
        return "from its beginning"
    return f"as `{offset_reset}` says"


def _sink_changes(old: SavedTopology, new: SavedTopology) -> Iterator[Change]:
    before, now = _sinks(old), _sinks(new)
    for topic in before.keys() - now.keys():
        yield Change(Level.SAFE, f"topic `{topic}`", "is no longer written")
    for topic in now.keys() - before.keys():
        yield Change(Level.SAFE, f"topic `{topic}`", "is written now", origin=now[topic].data.get("origin"))
    for topic in before.keys() & now.keys():
        for part in ("key", "value"):
            # Here the others are the readers: what the new version writes is read as the old type.
            for change in format_changes(now[topic].data[part], before[topic].data[part], part):
                if not change.safe:
                    yield Change(
                        Level.BREAKS,
                        f"topic `{topic}`",
                        f"{change.path}: readers with the old type would fail or miss something: the old type and the "
                        f"new one do not agree ({_told(old, new, topic, part)})",
                        "write to a new topic, or keep what they read",
                        now[topic].data.get("origin"),
                    )


def _told(old: SavedTopology, new: SavedTopology, topic: str, part: str) -> str:
    before, now = _sinks(old)[topic].data[part], _sinks(new)[topic].data[part]
    told = [change.message for change in format_changes(before, now, part) if not change.safe]
    return told[0] if told else "a field that readers do not have to expect"


def _sinks(topology: SavedTopology) -> dict[str, Node]:
    return {
        node.data["topic"]: node
        for node in topology.nodes.values()
        if node.kind == "sink" and not node.data["internal"] and node.data["topic"] is not None
    }


def _global_changes(old: SavedTopology, new: SavedTopology) -> Iterator[Change]:
    before = {table["store"]["name"]: table for table in old.data["global_stores"]}
    now = {table["store"]["name"]: table for table in new.data["global_stores"]}
    for name in before.keys() - now.keys():
        yield Change(Level.SAFE, f"global store `{name}`", "is gone")
    for name in now.keys() - before.keys():
        yield Change(Level.SAFE, f"global store `{name}`", "is new, and filled from its topic at the start")
    for name in before.keys() & now.keys():
        if before[name]["topic"] != now[name]["topic"]:
            yield Change(
                Level.SAFE,
                f"global store `{name}`",
                f"its topic was `{before[name]['topic']}`, and is `{now[name]['topic']}`: filled anew from it",
                origin=now[name]["store"].get("origin"),
            )
        if before[name]["store"]["kind"] != now[name]["store"]["kind"]:
            yield Change(
                Level.SAFE, f"global store `{name}`", "is of another kind now, and filled anew from its topic"
            )


def _repartition_changes(old: SavedTopology, new: SavedTopology) -> Iterator[Change]:
    before = {topic["name"]: topic["partitions"] for topic in old.data["repartition_topics"]}
    now = {topic["name"]: topic["partitions"] for topic in new.data["repartition_topics"]}
    for name in before.keys() & now.keys():
        if before[name] != now[name]:
            yield Change(
                Level.RESET,
                f"repartition `{name}`",
                f"had {_count(before[name])}, and has {_count(now[name])}: keys would move to other tasks than those "
                "that have their rows, and the start is refused if the number is really another",
                "go back to the old number",
            )
    looped = _looped(old)
    for name in before.keys() - now.keys():
        if name in looped:
            yield Change(
                Level.MOVES,
                f"repartition `{name}`",
                f"is gone: records that are under way in `<application-id>-{name}` are not read any more",
                "let the old version come to rest before it is stopped, or keep the name",
            )
        else:
            yield Change(
                Level.SAFE, f"repartition `{name}`", "is gone; between two batches nothing is under way in it"
            )
    for name in now.keys() - before.keys():
        yield Change(Level.SAFE, f"repartition `{name}`", "is new")


def _count(partitions: int | None) -> str:
    return "as many partitions as what is before it" if partitions is None else f"{partitions} partitions"


def _looped(topology: SavedTopology) -> set[str]:
    """Internal topics through which records come back to where they have been: these are kept in the log."""
    edges: dict[int, dict[str, int]] = {}
    for sink in topology.nodes.values():
        if sink.kind == "sink" and sink.data["internal"]:
            for source in topology.nodes.values():
                if source.kind == "source" and sink.data["topic"] in source.data["topics"]:
                    edges.setdefault(sink.sub, {})[sink.data["topic"]] = source.sub

    def reaches(start: int, end: int) -> bool:
        seen: set[int] = set()
        waiting = [start]
        while waiting:
            sub = waiting.pop()
            if sub == end:
                return True
            if sub not in seen:
                seen.add(sub)
                waiting += edges.get(sub, {}).values()
        return False

    return {topic for sub, out in edges.items() for topic, target in out.items() if reaches(target, sub)}
