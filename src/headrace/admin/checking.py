"""What a start would say of the topics of a log, without one."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.app.refusing import refusals, source_ids, with_new_partitions
from headrace.app.topics import topics_at_start
from headrace.config import StreamsConfig
from headrace.log.base import TopicLog
from headrace.spark.commit import CommitRecord, decode
from headrace.spark.layout import lay_out
from headrace.topology.topology import Topology
from headrace.topology.upgrade.changes import Change, Level


def refused(log: TopicLog, topology: Topology, config: StreamsConfig) -> Iterator[Change]:
    """Why a start would refuse to go on from the last commit, as far as the topics are there."""
    record, topics = log.committed(config.application_id), topics_at_start(log.topics(), topology, config)
    base = None if record is None else decode(record, CommitRecord)
    if base is None or topics is None:
        return
    extractor = config.default_timestamp_extractor
    layout = lay_out(topology, config.application_id, topics, extractor, base.task_count)
    base, ids = with_new_partitions(log, layout, base), source_ids(log, layout, config)
    for refusal in refusals(log, layout, base, config, ids):
        yield Change(
            Level.MOVES if refusal.may_be_accepted else Level.RESET,
            refusal.subject,
            refusal.error.message,
            origin=None if refusal.error.origin is None else str(refusal.error.origin),
        )
