"""Why an application cannot go on from its last commit, whatever its topology says: decided here for a start, which
raises the first reason, and for `headrace check`, which tells all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from headrace.app.topics import internal_topics
from headrace.config import StreamsConfig
from headrace.errors import HeadraceError, LogError, StartError
from headrace.log.base import TopicLog, TopicPartition
from headrace.log.commits import check_changelogs
from headrace.spark.commit import CommitRecord, Pending
from headrace.spark.layout import HEAD, Layout
from headrace.spark.loose import check_partitioners
from headrace.spark.watching import made_anew, shorter


class Refusal(NamedTuple):
    """One reason."""

    subject: str
    error: HeadraceError
    may_be_accepted: bool = False
    """Whether the user may go on all the same."""


def refusals(
    log: TopicLog, layout: Layout, base: CommitRecord, config: StreamsConfig, ids: Mapping[str, str]
) -> Iterator[Refusal]:
    """All reasons. `ids` are those of the topics as they are now."""
    if base.pending is not None:
        yield _pending(layout.application_id, base.pending)
        return
    yield from by_numbers(layout, base, config)
    positions = by_partition(base.positions)
    # Of what the application itself writes, Kafka may need a moment to tell the end.
    places = [tp for tp in positions if tp.topic in layout.topics and tp.topic not in base.ends]
    for tp, end in log.latest(places).items():
        if end < positions[tp]:
            yield Refusal(f"topic `{tp.topic}`", shorter(tp, positions[tp], end, layout.source_of(tp.topic)))
    for topic, error in made_anew(base.topic_ids, ids, positions, layout.source_of):
        yield Refusal(f"topic `{topic}`", error, may_be_accepted=True)
    # A changelog that the commit does not know belongs to a store that is new.
    known = [name for name in internal_topics(layout, config) if any(base.ends.get(name, ()))]
    try:
        if known:
            check_changelogs(log, layout.application_id, known, b"there is one")
    except LogError as error:
        yield Refusal(f"application `{layout.application_id}`", error)


def _pending(application_id: str, pending: Pending) -> Refusal:
    error = StartError(
        f"`headrace {pending.kind}` of application `{application_id}` was begun and has not come to its end: "
        "run it again"
    )
    return Refusal(f"application `{application_id}`", error)


def by_numbers(layout: Layout, base: CommitRecord, config: StreamsConfig) -> Iterator[Refusal]:
    """Reasons that need no look at the log: partitioners that would not know the tasks of an application that was
    rescaled, and topics that have or need another number of partitions. Keys would move to other tasks than those that
    have their state, and tasks to other numbers than those under which they remember.
    """
    try:
        if layout.by_key:
            check_partitioners(layout)
    except StartError as error:
        yield Refusal(f"node `{error.node}`", error)
    wanted = {name: count for name, (count, _) in internal_topics(layout, config).items()}
    yield from _other_counts(layout, layout.topics, base.positions)
    yield from _other_counts(layout, wanted, base.ends)


def _other_counts(
    layout: Layout, counts: Mapping[str, int], committed: Mapping[str, Sequence[int]]
) -> Iterator[Refusal]:
    for topic, count in counts.items():
        before = len(committed.get(topic, ())) or count
        if before != count:
            source = layout.source_of(topic)
            error = StartError(
                f"`{topic}` now has or needs {count} partitions, and had {before} at the last commit of application "
                f"`{layout.application_id}`: keys would lose their state; go back to {before}, cut the tasks loose "
                f"from the topics' partitions with `headrace rescale --tasks {count}`, or start afresh with "
                "`headrace reset` or under another `application_id`",
                node=None if source is None else source.name,
                origin=None if source is None else source.origin,
            )
            yield Refusal(f"topic `{topic}`", error)


def source_ids(log: TopicLog, layout: Layout, config: StreamsConfig) -> Mapping[str, str]:
    """What tells the topics that are read from others that had their names before; its own it may make anew itself."""
    own = internal_topics(layout, config)
    return log.topic_ids(topic for topic in (*layout.topics, *layout.global_partitions) if topic not in own)


def with_new_partitions(log: TopicLog, layout: Layout, base: CommitRecord) -> CommitRecord:
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


def by_partition(positions: Mapping[str, Sequence[int]]) -> dict[TopicPartition, int]:
    """The same, each place by itself."""
    return {
        TopicPartition(topic, number): at for topic, of in positions.items() for number, at in enumerate(of)
    }
