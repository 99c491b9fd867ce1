"""How many partitions repartition topics have, and how many tasks sub-topologies."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.errors import CopartitionError
from headrace.topology.nodes import SubTopology
from headrace.topology.topology import Topology


def partition_counts(
    topology: Topology,
    subs: tuple[SubTopology, ...],
    topics: Mapping[str, tuple[str, ...]],
    writers: Mapping[str, list[SubTopology]],
    available: Mapping[str, int],
) -> tuple[dict[str, int], dict[int, int]]:
    """Partitions of repartition topics (given, or the most of what is upstream), and tasks of sub-topologies.

    Starts from what is known and goes on until nothing changes, since a cycle may have to be walked twice.
    """
    given = {t.name: t.partitions for t in topology.repartition_topics if t.partitions is not None}
    counts: dict[str, int] = dict(given)
    tasks: dict[int, int] = {}
    for _ in range(2 * len(subs) + 1):
        for sub in subs:
            known = [available[t] for s in sub.sources if not s.repartition for t in topics[s.name]]
            known += [counts[n] for s in sub.sources if s.repartition for n in s.topics if n in counts]
            if known:
                tasks[sub.id] = max(known)
        for name, froms in writers.items():
            upstream = [tasks[sub.id] for sub in froms if sub.id in tasks]
            if name not in given and upstream:
                counts[name] = max(upstream)
        _copartition(topology, counts, given, topics, available)
    return counts, tasks


def _copartition(
    topology: Topology,
    counts: dict[str, int],
    given: Mapping[str, int],
    topics: Mapping[str, tuple[str, ...]],
    available: Mapping[str, int],
) -> None:
    """Sources that are joined must have the same number of partitions; repartition topics among them follow."""
    for group in topology.copartition_groups():
        fixed: dict[str, dict[str, int]] = {}
        free: list[str] = []
        for source in group:
            if source.repartition:
                fixed[source.name] = {name: given[name] for name in source.topics if name in given}
                free += [name for name in source.topics if name not in given and name in counts]
            else:
                fixed[source.name] = {topic: available[topic] for topic in topics[source.name]}
        found = {n for sizes in fixed.values() for n in sizes.values()}
        if len(found) > 1:
            raise _unequal(topology, fixed)
        want = next(iter(found)) if found else max((counts[n] for n in free), default=0)
        for name in free:
            counts[name] = want


def _unequal(topology: Topology, fixed: Mapping[str, Mapping[str, int]]) -> CopartitionError:
    """At the first join whose own topics differ; if there is none, at the last of those that bring them together."""
    joins = [join for join in topology.copartitions if not join.sources.isdisjoint(fixed)]
    for join in joins:
        sizes = {topic: n for source in join.sources for topic, n in fixed[source].items()}
        if len(set(sizes.values())) > 1:
            break
    else:
        sizes = {topic: n for topics in fixed.values() for topic, n in topics.items()}
    listed = ", ".join(f"`{name}` has {n}" for name, n in sorted(sizes.items()))
    return CopartitionError(
        f"joined topics must have the same number of partitions: {listed}; create them alike, or call `repartition` on "
        "one side",
        node=join.node,
        origin=join.origin,
    )
