"""Which topics of the log are an application's own: changelogs, and repartition topics that go through the log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headrace.spark.changelogs import memory_store
from headrace.spark.commit import CommitRecord
from headrace.spark.named_topics import is_internal
from headrace.topology.topology import Topology


class Internals(NamedTuple):
    """Topics by what is known of them."""

    own: tuple[str, ...]
    """The application's."""
    doubtful: tuple[str, ...]
    """Those with the names of such topics, of which nothing says that they are this application's."""


def internals(
    topology: Topology, application_id: str, commit: CommitRecord | None, topics: Iterable[str]
) -> Internals:
    """Of all topics that exist. The commit knows those of versions before this one."""
    users = {
        topic
        for sub in topology.sub_topologies()
        for topic in (
            *(t for source in sub.sources if not source.repartition for t in source.topics),
            *(sink.topic for sink in sub.sinks if not sink.repartition and sink.topic is not None),
        )
    }
    users |= {topic for node in topology.global_stores for topic in node.source.topics}
    names = {f"{store}-changelog" for store, spec in topology.stores.items() if spec.changelog_topic is None}
    names |= {f"{memory_store(sub.id)}-changelog" for sub in topology.sub_topologies()}
    names |= {topic.name for topic in topology.repartition_topics}
    known = {f"{application_id}-{name}" for name in names}
    if commit is not None:
        known |= {name for name in commit.ends if is_internal(name, application_id)}
        known |= set(() if commit.pending is None else commit.pending.topics)
    known |= {f"{name}-rescaled" for name in known}
    alike = {name for name in topics if is_internal(name, application_id)} - users
    own = known - users
    return Internals(tuple(sorted(name for name in topics if name in own)), tuple(sorted(alike - own)))
