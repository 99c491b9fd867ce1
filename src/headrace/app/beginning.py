"""Where an application goes on: its last commit, with everything filled in that is new since then."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import msgspec

from headrace.app.topics import internal_topics
from headrace.errors import LogError
from headrace.log.base import TopicLog, TopicPartition
from headrace.spark.commit import CommitRecord, decode
from headrace.spark.layout import Layout
from headrace.topology.topology import Topology


def base_commit(log: TopicLog, topology: Topology, layout: Layout, record: bytes | None) -> CommitRecord:
    """The commit to build on; a new incarnation when there is none. Internal topics that are missing are made."""
    wanted = internal_topics(layout)
    existing = log.topics()
    if record is None:
        _refuse_orphans(
            log, layout.application_id, {name: existing[name] for name in wanted if name in existing}
        )
        base = CommitRecord(uuid.uuid4().hex, 0, 0, {})
    else:
        base = decode(record, CommitRecord)
    for name, (partitions, config) in wanted.items():
        if name not in existing:
            log.create_topic(name, partitions, config)
    unknown = {name: [0] * partitions for name, (partitions, _) in wanted.items()}
    return msgspec.structs.replace(
        base,
        positions={**first_positions(log, topology, layout, base.positions), **base.positions},
        ends={**unknown, **base.ends},
    )


def _refuse_orphans(log: TopicLog, application_id: str, changelogs: dict[str, int]) -> None:
    """A changelog that holds something, but no commit that says how far it is true: do not guess."""
    for name, partitions in changelogs.items():
        if any(log.latest([TopicPartition(name, p) for p in range(partitions)]).values()):
            raise LogError(
                f"changelog `{name}` has records, but application `{application_id}` has no commit: "
                "delete its internal topics, or choose another application id"
            )


def first_positions(
    log: TopicLog, topology: Topology, layout: Layout, known: Iterable[str]
) -> dict[str, list[int]]:
    """Where to begin in topics that were never read: at the earliest record, unless a source says `latest`."""
    from_the_end = {
        topic
        for sub in topology.sub_topologies()
        for source in sub.sources
        if source.offset_reset == "latest"
        for topic in source.topics
    }
    found = {}
    for topic, count in layout.topics.items():
        if topic not in known:
            partitions = [TopicPartition(topic, p) for p in range(count)]
            places = log.latest(partitions) if topic in from_the_end else log.earliest(partitions)
            found[topic] = [places[tp] for tp in partitions]
    return found
