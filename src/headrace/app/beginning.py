"""Where an application goes on: its last commit, with everything filled in that is new since then."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

import msgspec

from headrace.app.refusing import refusals, source_ids, with_new_partitions
from headrace.app.topics import internal_topics
from headrace.clock import now_ms
from headrace.config import AT_LEAST_ONCE, StreamsConfig
from headrace.errors import StartError
from headrace.log.base import TopicLog, TopicPartition
from headrace.log.commits import check_changelogs
from headrace.offset_reset import OffsetReset
from headrace.spark.commit import CommitRecord, decode
from headrace.spark.layout import Layout
from headrace.spark.named_topics import source_topics
from headrace.topology.topology import Topology


def base_commit(
    log: TopicLog,
    topology: Topology,
    layout: Layout,
    record: bytes | None,
    config: StreamsConfig,
    *,
    accept_changes: bool = False,
) -> CommitRecord:
    """The commit to build on; a new incarnation when there is none. Internal topics that are missing are made."""
    wanted = internal_topics(layout, config)
    base = CommitRecord(uuid.uuid4().hex, 0, 0, {}) if record is None else decode(record, CommitRecord)
    base, ids = with_new_partitions(log, layout, base), source_ids(log, layout, config)
    for refusal in refusals(log, layout, base, config, ids):
        if not (accept_changes and refusal.may_be_accepted):
            raise refusal.error
    if record is None and config.processing_guarantee != AT_LEAST_ONCE:
        # Without transactions a first batch that was broken off leaves changes: that is what at-least-once means.
        check_changelogs(log, layout.application_id, wanted, None)
    existing = log.topics()
    for name, (partitions, settings) in wanted.items():
        if name not in existing:
            log.create_topic(name, partitions, settings)
    unknown = {name: [0] * partitions for name, partitions in layout.topics.items()}
    unknown |= {name: [0] * partitions for name, (partitions, _) in wanted.items()}
    return msgspec.structs.replace(
        base,
        positions={**first_positions(log, topology, layout, base.positions, config), **base.positions},
        ends={**unknown, **base.ends},
        shutdown=None,
        topic_ids={**base.topic_ids, **ids},
    )


def first_positions(
    log: TopicLog, topology: Topology, layout: Layout, known: Iterable[str], config: StreamsConfig
) -> dict[str, list[int]]:
    """Where to begin in topics that were never read: as their source says, or else the configuration."""
    topics = source_topics(topology, layout.topics, layout.application_id)
    said: dict[str, OffsetReset] = {
        topic: config.auto_offset_reset if source.offset_reset is None else source.offset_reset
        for sub in topology.sub_topologies()
        for source in sub.sources
        if not source.repartition
        for topic in topics[source.name]
    }
    found = {}
    for topic, count in layout.topics.items():
        if topic not in known:
            partitions = [TopicPartition(topic, p) for p in range(count)]
            places = _places(log, partitions, said.get(topic, "earliest"), layout.application_id)
            found[topic] = [places[tp] for tp in partitions]
    return found


def _places(
    log: TopicLog, partitions: Sequence[TopicPartition], begin: OffsetReset, application_id: str
) -> Mapping[TopicPartition, int]:
    if begin == "none":
        raise StartError(
            f"application `{application_id}` has no position in `{partitions[0].topic}`, and is not to choose one "
            '(`offset_reset="none"`): say "earliest", "latest" or how far to go back'
        )
    if isinstance(begin, timedelta):
        since = now_ms() - begin // timedelta(milliseconds=1)
        return log.offsets_for_times(dict.fromkeys(partitions, since))
    return log.latest(partitions) if begin == "latest" else log.earliest(partitions)
