"""Where an application goes on: its last commit, with everything filled in that is new since then."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

import msgspec

from headrace.app.topics import internal_topics
from headrace.clock import now_ms
from headrace.config import AT_LEAST_ONCE, StreamsConfig
from headrace.errors import StartError
from headrace.log.base import TopicLog, TopicPartition
from headrace.log.commits import check_changelogs
from headrace.offset_reset import OffsetReset
from headrace.spark.commit import CommitRecord, decode
from headrace.spark.layout import HEAD, Layout
from headrace.spark.named_topics import source_topics
from headrace.spark.watching import shorter
from headrace.topology.topology import Topology


def base_commit(
    log: TopicLog, topology: Topology, layout: Layout, record: bytes | None, config: StreamsConfig
) -> CommitRecord:
    """The commit to build on; a new incarnation when there is none. Internal topics that are missing are made."""
    wanted = internal_topics(layout, config)
    base = CommitRecord(uuid.uuid4().hex, 0, 0, {}) if record is None else decode(record, CommitRecord)
    _refuse_pending(layout.application_id, base)
    base = _with_new_partitions(log, layout, base)
    _refuse_other_counts(layout, layout.topics, base.positions)
    _refuse_other_counts(layout, {name: n for name, (n, _) in wanted.items()}, base.ends)
    _refuse_shorter_topics(log, layout, base)
    # A changelog that the commit does not know belongs to a store that is new.
    known = [name for name in wanted if record is None or any(base.ends.get(name, ()))]
    if record is not None or config.processing_guarantee != AT_LEAST_ONCE:
        # Without transactions a first batch that was broken off leaves changes: that is what at-least-once means.
        check_changelogs(log, layout.application_id, known, record)
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
    )


def _refuse_pending(application_id: str, base: CommitRecord) -> None:
    if base.pending is not None:
        raise StartError(
            f"`headrace {base.pending.kind}` of application `{application_id}` was begun and has not come to its end: "
            "run it again"
        )


def _with_new_partitions(log: TopicLog, layout: Layout, base: CommitRecord) -> CommitRecord:
    """Where nothing is kept, or records go by their keys, a topic may grow: what is new is read from its beginning."""
    if layout.stages > HEAD and not layout.by_key:
        return base

    def longer(topic: str, known: list[int]) -> list[int]:
        new = [TopicPartition(topic, number) for number in range(len(known), layout.topics.get(topic, 0))]
        earliest = log.earliest(new) if known and new else {}
        return [*known, *(earliest[place] for place in new if known)]

    return msgspec.structs.replace(
        base,
        positions={topic: longer(topic, known) for topic, known in base.positions.items()},
        ends={topic: longer(topic, known) for topic, known in base.ends.items()},
    )


def _refuse_other_counts(
    layout: Layout, counts: Mapping[str, int], committed: Mapping[str, Sequence[int]]
) -> None:
    """Keys would move to other tasks than those that have their state."""
    for topic, count in counts.items():
        before = len(committed.get(topic, ())) or count
        if before != count:
            source = layout.source_of(topic)
            raise StartError(
                f"`{topic}` now has or needs {count} partitions, and had {before} at the last commit of application "
                f"`{layout.application_id}`: keys would lose their state; go back to {before}, cut the tasks loose "
                f"from the topics' partitions with `headrace rescale --tasks {count}`, or start afresh with "
                "`headrace reset` or under another `application_id`",
                node=None if source is None else source.name,
                origin=None if source is None else source.origin,
            )


def _refuse_shorter_topics(log: TopicLog, layout: Layout, base: CommitRecord) -> None:
    """A topic that ends before the place to go on from is not the one that was read: its records would be skipped."""
    places = {
        TopicPartition(topic, number): position
        for topic, positions in base.positions.items()
        # Of what the application itself writes, Kafka may need a moment to tell the end.
        if topic in layout.topics and topic not in base.ends
        for number, position in enumerate(positions)
    }
    for tp, end in log.latest(places).items():
        if end < places[tp]:
            raise shorter(tp, places[tp], end, layout.source_of(tp.topic))


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
