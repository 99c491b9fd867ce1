"""An application as its log knows it: opened to be read, without becoming its writer and without changing anything."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config import StreamsConfig
from headrace.errors import StartError
from headrace.log.base import TopicLog
from headrace.log.commits import commits_topic
from headrace.spark.changelogs import TaskChangelogs
from headrace.spark.commit import CommitRecord, decode
from headrace.spark.layout import HEAD, Layout, lay_out
from headrace.spark.named_topics import missing_topics
from headrace.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class Recorded:
    """Its layout over the topics that there are, and its newest commit."""

    config: StreamsConfig
    layout: Layout
    base: CommitRecord

    def tasks(self) -> list[TaskChangelogs]:
        """All tasks that keep something."""
        return [
            TaskChangelogs(self.layout, placement, task_id, self.config)
            for placement in self.layout.placements
            if placement.stage > HEAD
            for task_id in placement.task_ids()
        ]


def recorded(topology: Topology, config: StreamsConfig, log: TopicLog) -> Recorded:
    """What the log knows of an application; StartError when it has never committed anything."""
    available = log.topics()
    missing = missing_topics(topology, available)
    if missing:
        topic, source = missing[0]
        raise StartError(
            f"topic `{topic}` does not exist, so this application cannot have run here: is it another log?",
            node=source.name,
            origin=source.origin,
        )
    base = newest_commit(log, config.application_id)
    extractor = config.default_timestamp_extractor
    layout = lay_out(topology, config.application_id, available, extractor, base.task_count)
    return Recorded(config, layout, base)


def newest_commit(log: TopicLog, application_id: str) -> CommitRecord:
    """The newest commit; StartError when there is none."""
    record = log.committed(application_id)
    if record is None:
        raise StartError(
            f"application `{application_id}` has committed nothing yet: there is no commit in "
            f"`{commits_topic(application_id)}`; run it first, or name the right `--application-id`, `--data-dir` or "
            "`--bootstrap-servers`"
        )
    return decode(record, CommitRecord)
