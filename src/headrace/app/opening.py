"""Before the query: what must be right of topology and settings, and what is opened for it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.app.refusing import by_numbers, with_new_partitions
from headrace.app.renumbering import renumber
from headrace.app.topics import prepare_topics
from headrace.app.upgrading import check_upgrade
from headrace.config import StreamsConfig
from headrace.errors import StartError
from headrace.log import log_config, open_log
from headrace.log.base import Publisher, TopicLog
from headrace.resolve import check_naming, check_optimization, check_serdes, check_topic_names
from headrace.spark.commit import CommitRecord, decode, task_count
from headrace.spark.executors import parallelism, send_code
from headrace.spark.hosts import check_log, on_these_hosts
from headrace.spark.java import find_java
from headrace.spark.layout import Layout, lay_out
from headrace.spark.restores import Channel
from headrace.spark.session import Session, cores, master_of, planned_master
from headrace.spark.ship import Shipment, reference
from headrace.topology.topology import Topology


def check_application(topology: Topology, config: StreamsConfig) -> None:
    """What can be known to be wrong before anything is opened."""
    if not topology.sub_topologies() and not topology.global_stores:
        raise StartError(
            "the topology reads no topic: begin with `builder.stream(...)` or `builder.table(...)`"
        )
    specs = (*topology.stores.values(), *(node.store for node in topology.global_stores))
    check_serdes(topology.nodes.values(), specs, config)
    check_optimization(topology.optimizations, config)
    check_naming(topology, config)
    check_topic_names(topology, config)
    find_java()
    check_log(config, planned_master(config.master))


@dataclass(slots=True)
class Opened:
    """An application's log, its topics, and the right to publish."""

    log: TopicLog
    available: Mapping[str, int]
    layout: Layout
    publisher: Publisher
    kept: Mapping[str, bytes]
    """What the first commit has to keep beside it."""
    accept_changes: bool = False
    """Whether to go on in topics that are not those that were read."""

    def close(self) -> None:
        self.publisher.close()
        self.log.close()


def open_application(
    topology: Topology, config: StreamsConfig, *, take_over: bool = False, accept_changes: bool = False
) -> Opened:
    """Open the log, see to the topics, and become the one process that publishes for this application."""
    log = open_log(log_config(config))
    try:
        available = prepare_topics(log, topology, config)
        # Before anything is taken over: what cannot be laid out must not stop another process.
        tasks = task_count(log.committed(config.application_id))
        extractor = config.default_timestamp_extractor
        layout = lay_out(topology, config.application_id, available, extractor, tasks)
        publisher = log.publisher(config.application_id, take_over=take_over)
        try:
            kept = check_upgrade(log, topology, config, accept_changes=accept_changes)
            _check_numbers(log, layout, publisher.last_commit(), config)
            if renumber(log, publisher, layout, kept):
                kept = {}
        except BaseException:
            publisher.close()
            raise
    except BaseException:
        log.close()
        raise
    return Opened(log, available, layout, publisher, kept, accept_changes)


def _check_numbers(log: TopicLog, layout: Layout, record: bytes | None, config: StreamsConfig) -> None:
    """Before tasks are renumbered, which is written down: what is refused must leave everything as it was."""
    if record is not None:
        base = with_new_partitions(log, layout, decode(record, CommitRecord))
        for refusal in by_numbers(layout, base, config) if base.pending is None else ():
            raise refusal.error


def ship(
    topology: Topology,
    config: StreamsConfig,
    opened: Opened,
    base: CommitRecord,
    spark: Session,
    channel: Channel | None = None,
) -> Shipment:
    """What the workers need, with the user's file where there is one."""
    ref = send_code(spark, reference(topology))
    theirs = on_these_hosts(config, master_of(spark))
    slots = min(opened.layout.tasks, parallelism(spark)) or cores()
    return Shipment(
        uuid.uuid4().hex,
        base.incarnation,
        ref or topology,
        theirs,
        opened.available,
        slots,
        channel,
        base.task_count,
    )
