"""Before the first batch: are the topics there, and which internal ones have to be made?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from headrace.config import StreamsConfig
from headrace.errors import MissingTopicError
from headrace.log.base import TopicLog
from headrace.meant import did_you_mean
from headrace.spark.changelogs import memory_store
from headrace.spark.layout import HEAD, Layout
from headrace.spark.named_topics import missing_topics
from headrace.state.key_schema import MAX_TIME
from headrace.topology.nodes import SinkNode, SourceNode
from headrace.topology.stores import StoreSpec
from headrace.topology.topology import Topology

DAY_MS = 86_400_000


def prepare_topics(log: TopicLog, topology: Topology, config: StreamsConfig) -> Mapping[str, int]:
    """The topics of the log. Missing sources and sinks are made where the configuration allows it."""
    available = log.topics()
    wanted = topics_at_start(available, topology, config)
    if wanted is None:
        raise _do_not_exist(missing_topics(topology, available), available, config)
    for topic, partitions in wanted.items():
        if topic not in available:
            log.create_topic(topic, partitions)
    return wanted


def topics_at_start(
    available: Mapping[str, int], topology: Topology, config: StreamsConfig
) -> Mapping[str, int] | None:
    """The topics with those that a start would make; None when it may not, and refuses to start."""
    create = config.bootstrap_servers is None if config.create_topics is None else config.create_topics
    missing = [topic for topic, _ in missing_topics(topology, available)]
    if missing and not create:
        return None
    if config.dead_letter_topic is not None and config.dead_letter_topic not in available:
        missing.append(config.dead_letter_topic)
    return {**available, **dict.fromkeys(missing, config.default_partitions)}


def _do_not_exist(
    missing: Sequence[tuple[str, SourceNode | SinkNode]], available: Mapping[str, int], config: StreamsConfig
) -> MissingTopicError:
    """All of them at once, what they may have been meant to be, and how to make them."""

    def hint(topic: str) -> str:
        return did_you_mean(topic, available)

    where = ""
    if config.bootstrap_servers is not None:
        where = f" --bootstrap-servers {config.bootstrap_servers}"
    elif config.data_dir != StreamsConfig(application_id="any").data_dir:
        where = f" --data-dir {config.data_dir}"
    commands = [
        f"`headrace topics create {topic} --partitions {config.default_partitions}{where}`"
        for topic, _ in missing
    ]
    first, node = missing[0]
    if len(missing) == 1:
        said = f"topic `{first}` does not exist{'; ' if hint(first) else ''}{hint(first)}; create it with {commands[0]}"
    else:
        each = [
            f"`{topic}` ({'; '.join(filter(None, (hint(topic), f'at {n.origin}')))})" for topic, n in missing
        ]
        said = (
            f"{len(missing)} topics do not exist: {', '.join(each)}; create them with {', '.join(commands)}"
        )
    return MissingTopicError(f"{said}, or set `create_topics=True`", node=node.name, origin=node.origin)


def internal_topics(layout: Layout, config: StreamsConfig) -> dict[str, tuple[int, dict[str, str]]]:
    """Changelogs and looped repartition topics: partitions and settings, named as Kafka Streams names them."""
    found: dict[str, tuple[int, dict[str, str]]] = {}
    for placement in layout.placements:
        for spec in placement.sub.stores:
            if spec.logging and spec.changelog_topic is None:
                found[layout.changelog(spec.name)] = (placement.tasks, changelog_config(spec, config))
        if placement.stage > HEAD:
            name = layout.changelog(memory_store(placement.sub.id))
            found[name] = (placement.tasks, {"cleanup.policy": "compact"})
    for name in layout.looped:
        found[layout.internal_name(name)] = (
            layout.repartitions[name],
            {"cleanup.policy": "delete", "retention.ms": "-1"},
        )
    return found


def changelog_config(spec: StoreSpec, settings: StreamsConfig) -> dict[str, str]:
    """Compacted; windows are dropped, too, some time after their retention, and versions stay as long as they count."""
    config = {"cleanup.policy": "compact"}
    longer = settings.windowstore_changelog_additional_retention // timedelta(milliseconds=1)
    if spec.kind in ("window", "timestamped_window", "session"):
        retention_ms = min(spec.retention_ms + longer, MAX_TIME)
        config = {"cleanup.policy": "compact,delete", "retention.ms": str(retention_ms)}
    if spec.kind == "versioned":
        # A put out of order must not win over the latest one by compaction before the history is over.
        config["min.compaction.lag.ms"] = str(min(spec.retention_ms + DAY_MS, MAX_TIME))
    return {**config, "message.timestamp.type": "CreateTime", **dict(spec.log_config)}
