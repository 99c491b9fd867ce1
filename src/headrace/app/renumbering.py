"""Sub-topologies that have other numbers than before: what their tasks remember goes with them.

Stores are found by their names, wherever they are. What operators remember beside them (stream times, due times) is
kept under the number of the sub-topology, and another one may have that number now. So the first thing that an upgraded
application commits is these memories under their new numbers, in one transaction with the new topology.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import msgspec

from headrace.log.base import Outgoing, Publication, Publisher, TopicLog, TopicPartition
from headrace.log.commits import TOPOLOGY
from headrace.spark.changelogs import memory_store
from headrace.spark.commit import CommitRecord, TaskCommit, decode, encode
from headrace.spark.hosted import MEMORY
from headrace.spark.layout import HEAD, Layout
from headrace.topology.upgrade.matching import match_stores
from headrace.topology.upgrade.saved import SavedTopology


def renumber(log: TopicLog, publisher: Publisher, layout: Layout, kept: Mapping[str, bytes]) -> bool:
    """Give every sub-topology what its tasks remembered under other numbers, and keep the new topology with that.
    False, and nothing done, when none has another number, or this is the topology that was kept before.
    """
    record, before = publisher.last_commit(), log.committed(layout.application_id, TOPOLOGY)
    if record is None or before is None or TOPOLOGY not in kept:
        return False
    base = decode(record, CommitRecord)
    if base.pending is not None:
        return False
    old, new = (SavedTopology(msgspec.json.decode(text)) for text in (before, kept[TOPOLOGY]))
    return _renumber(log, publisher, layout, base, old, new, kept)


def _renumber(
    log: TopicLog,
    publisher: Publisher,
    layout: Layout,
    base: CommitRecord,
    old: SavedTopology,
    new: SavedTopology,
    kept: Mapping[str, bytes],
) -> bool:
    came_from = former_numbers(old, new)
    written: dict[TopicPartition, bytes] = {}
    moved: set[int] = set()
    for placement in layout.placements:
        sub, before = placement.sub.id, came_from.get(placement.sub.id, set())
        topic = layout.changelog(memory_store(sub))
        known = base.ends.get(topic, [])
        if placement.stage == HEAD or before == {sub} or (not before and not any(known)):
            continue
        moved.add(sub)
        for task in range(placement.tasks):
            memories = [_memory(log, layout, base, number, task) for number in sorted(before)]
            memory = _joined(memories, old, new)
            written[TopicPartition(topic, task)] = msgspec.json.encode(memory, order="deterministic")
    if not moved:
        return False
    for topic in {place.topic for place in written} - log.topics().keys():
        partitions = sum(place.topic == topic for place in written)
        log.create_topic(topic, partitions, {"cleanup.policy": "compact"})

    def commit(ends: Mapping[TopicPartition, int]) -> bytes:
        after = {topic: list(known) for topic, known in base.ends.items()}
        for place in written:
            after.setdefault(place.topic, [0] * sum(p.topic == place.topic for p in written))
            after[place.topic][place.partition] = ends[place]
        # Local stores under these numbers are those of others, or lack what was written here.
        at = TaskCommit(base.number + 1, uuid.uuid4().hex)
        tasks = {
            **base.tasks,
            **{str(task): at for p in layout.placements if p.sub.id in moved for task in p.task_ids()},
        }
        return encode(msgspec.structs.replace(base, number=base.number + 1, ends=after, tasks=tasks))

    rows = [
        Outgoing(place.topic, [MEMORY], [memory], [base.wall_clock], None, place.partition)
        for place, memory in written.items()
    ]
    positions = {
        TopicPartition(topic, partition): at
        for topic, offsets in base.positions.items()
        for partition, at in enumerate(offsets)
    }
    publisher.publish(Publication([], rows, positions, commit, kept))
    return True


def former_numbers(old: SavedTopology, new: SavedTopology) -> dict[int, set[int]]:
    """The numbers that each sub-topology had: those whose stores it has, or else those that read the same topics."""
    found: dict[int, set[int]] = {}
    for one, other in match_stores(old, new).pairs:
        if one.name == other.name:
            found.setdefault(other.sub, set()).add(one.sub)
    before, now = _topics(old), _topics(new)
    for sub, topics in now.items():
        if sub not in found and topics:
            found[sub] = {number for number, read in before.items() if read == topics}
    return {sub: numbers for sub, numbers in found.items() if numbers}


def _topics(topology: SavedTopology) -> dict[int, frozenset[str]]:
    """What sub-topologies without stores read."""
    with_stores = {store.sub for store in topology.stores.values()}
    found: dict[int, set[str]] = {}
    for node in topology.nodes.values():
        if node.kind == "source" and node.sub >= 0 and node.sub not in with_stores:
            found.setdefault(node.sub, set()).update(node.data["topics"])
    return {sub: frozenset(topics) for sub, topics in found.items()}


def _memory(log: TopicLog, layout: Layout, base: CommitRecord, sub: int, task: int) -> dict[str, Any]:
    place = TopicPartition(layout.changelog(memory_store(sub)), task)
    ends = base.ends.get(place.topic, [])
    if task >= len(ends) or not ends[task]:
        return {}
    found: bytes | None = None
    first = log.earliest([place])[place]
    for chunk in log.read({place: (first, ends[task])} if first < ends[task] else {}):
        if len(chunk):
            found = chunk.values[-1]
    return {} if found is None else msgspec.json.decode(found, type=dict[str, Any])


def _joined(memories: list[dict[str, Any]], old: SavedTopology, new: SavedTopology) -> dict[str, Any]:
    """All of them. A generated name that another operator has now is not that of the one that remembers."""
    found: dict[str, Any] = {}
    for memory in memories:
        for name, value in memory.items():
            one, other = old.nodes.get(name.partition("/")[0]), new.nodes.get(name.partition("/")[0])
            if one is not None and other is not None and one.operator != other.operator:
                continue
            known = found.get(name)
            is_later = not (isinstance(value, int) and isinstance(known, int)) or value > known
            if is_later:
                found[name] = value
    return found
