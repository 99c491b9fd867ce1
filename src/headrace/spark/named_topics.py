"""The topics that a topology names or matches: which it reads, which are missing, which are the application's own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headrace.errors import MissingTopicError, TopicConflictError
from headrace.log.commits import commits_topic
from headrace.topology.nodes import SinkNode, SourceNode
from headrace.topology.topology import Topology

_INTERNAL = re.compile(
    r".+(-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic"
    r"|-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)(-rescaled)?"
)
"""How Kafka Streams names them; and what a rescaling that was broken off leaves."""


def source_topics(
    topology: Topology, available: Mapping[str, int], application_id: str
) -> dict[str, tuple[str, ...]]:
    """The topics of the log that each source node reads; patterns are matched against what is there, without what the
    application has made for itself.
    """
    found = {}
    readers: dict[str, SourceNode] = {}
    for source in (s for sub in topology.sub_topologies() for s in sub.sources if not s.repartition):
        found[source.name] = (
            source.topics if source.pattern is None else _matching(source, available, application_id)
        )
        for topic in found[source.name]:
            other = readers.setdefault(topic, source)
            if other is not source:
                raise TopicConflictError(
                    f"the topic `{topic}`, which the pattern matches, is already read by `{other.name}`, made at "
                    f"{other.origin}: let each topic match one pattern only, and use that stream again",
                    node=source.name,
                    origin=source.origin,
                )
    return found


def _matching(source: SourceNode, available: Mapping[str, int], application_id: str) -> tuple[str, ...]:
    pattern = source.pattern
    assert pattern is not None
    matching = tuple(
        sorted(
            topic
            for topic in available
            if pattern.fullmatch(topic)
            and not topic.startswith("__")
            and not is_internal(topic, application_id)
            and topic != commits_topic(application_id)
        )
    )
    if not matching:
        raise MissingTopicError(
            f"no topic matches the pattern `{pattern.pattern}`: create one before the start",
            node=source.name,
            origin=source.origin,
        )
    return matching


def missing_topics(
    topology: Topology, available: Mapping[str, int]
) -> list[tuple[str, SourceNode | SinkNode]]:
    """Topics that do not exist: of sources, also of global tables, and of sinks."""
    subs = topology.sub_topologies()
    named: list[tuple[str | None, SourceNode | SinkNode]] = [
        (topic, s)
        for s in (
            *(s for sub in subs for s in sub.sources if not s.repartition),
            *(g.source for g in topology.global_stores),
        )
        for topic in s.topics
    ]
    named += [(sink.topic, sink) for sub in subs for sink in sub.sinks if not sink.repartition]
    found: dict[str, SourceNode | SinkNode] = {}
    for topic, node in named:
        if topic is not None and topic not in available:
            found.setdefault(topic, node)
    return list(found.items())


def is_internal(name: str, application_id: str) -> bool:
    """Whether it has the name of an internal topic of this application, or of one whose name begins alike.

    >>> is_internal("shop-counts-changelog", "shop"), is_internal("shop-counts", "shop")
    (True, False)
    """
    return name.startswith(f"{application_id}-") and _INTERNAL.fullmatch(name) is not None
