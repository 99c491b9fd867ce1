"""Starting afresh: positions, stores and internal topics of a stopped application go; its outputs stay.

The first step writes a commit record that says that a reset is under way, and of which topics. From then on nothing
of the old state counts, and a start is refused until the last step has written the record to begin with. So a reset
that was broken off is simply done again.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.admin.beginnings import Beginning
from headrace.admin.internals import Internals, internals
from headrace.admin.stopped import Stopped, local_folders
from headrace.errors import ConfigError
from headrace.failpoints import failpoint
from headrace.log.base import Publication, TopicPartition
from headrace.log.commits import TOPOLOGY
from headrace.spark.commit import CommitRecord, Pending, encode
from headrace.spark.named_topics import source_topics
from headrace.topology.topology import Topology

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ResetPlan:
    """Exactly what a reset does."""

    application_id: str
    commits: int
    """How many there are."""
    beginning: Beginning
    inputs: tuple[str, ...]
    """Topics that are read from that beginning."""
    first: tuple[str, ...]
    """Topics that are read as at a first start."""
    intermediate: tuple[str, ...]
    """Topics that are written and read: what is there was made by the runs before, and is skipped."""
    positions: Mapping[str, list[int]]
    topics: tuple[str, ...]
    doubtful: tuple[str, ...]
    folders: tuple[Path, ...]
    outputs: tuple[str, ...]
    again: bool = False
    """Whether one was begun before and broken off."""
    moves: bool = False
    """Whether the positions are others than those that the last commit has."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to reset."""
        return not (self.commits or self.topics or self.folders or self.again or self.moves)

    def lines(self) -> Iterator[str]:
        """The plan for a reader."""
        if self.again:
            yield "a reset was begun before and broken off: this one ends it"
        yield f"forget   {self.commits} commit{'' if self.commits == 1 else 's'}, and the positions in all inputs"
        for topic in self.inputs:
            yield f"read     {topic}: {self.beginning.words}{self._at(topic)}"
        for topic in self.first:
            yield f"read     {topic}: as at a first start"
        for topic in self.intermediate:
            yield f"skip     {topic}: it is written and read, and what is in it was made before{self._at(topic)}"
        for topic in self.topics:
            yield f"delete   {topic}"
        for folder in self.folders:
            yield f"delete   {folder}/ (the local stores of this host)"
        for topic in self.doubtful:
            yield f"keep     {topic}: its name is like that of an internal topic, but this application does not know it"
        for topic in self.outputs:
            yield f"keep     {topic}: an output topic, which a reset never touches"

    def _at(self, topic: str) -> str:
        places = self.positions.get(topic)
        return "" if places is None else f" ({', '.join(map(str, places))})"


def plan_reset(
    app: Stopped, beginning: Beginning | None = None, only: Sequence[str] | None = None
) -> ResetPlan:
    """Look at everything; change nothing. `only` names the inputs for which the beginning holds."""
    beginning = beginning or Beginning()
    topology, config, existing = app.topology, app.config, app.log.topics()
    written = set(_sinks(topology))
    read = [topic for topic in _sources(topology, existing, config.application_id) if topic in existing]
    for topic in only or ():
        if topic not in read or topic in written:
            raise ConfigError(
                f"`{topic}` is no input of application `{config.application_id}`: it reads "
                f"{', '.join(f'`{t}`' for t in read if t not in written) or 'nothing'}"
            )
    chosen = [t for t in read if t not in written and beginning.is_chosen and (only is None or t in only)]
    intermediate = [topic for topic in read if topic in written]
    positions = {topic: beginning.places(app.log, topic, existing[topic]) for topic in chosen}
    positions |= {
        topic: Beginning(latest=True).places(app.log, topic, existing[topic]) for topic in intermediate
    }
    found: Internals = internals(topology, config.application_id, app.commit, existing)
    return ResetPlan(
        config.application_id,
        0 if app.commit is None else app.commit.number,
        beginning,
        tuple(chosen),
        tuple(topic for topic in read if topic not in written and topic not in chosen),
        tuple(intermediate),
        positions,
        found.own,
        found.doubtful,
        local_folders(config),
        tuple(sorted(topic for topic in written if topic not in read)),
        again=app.commit is not None and app.commit.pending is not None,
        moves=beginning.is_chosen if app.commit is None else positions != app.commit.positions,
    )


def reset(app: Stopped, plan: ResetPlan, tell: Tell = lambda line: None) -> None:
    """Do it. It may be broken off at any point: done again, it comes to the same end."""
    fresh = CommitRecord(uuid.uuid4().hex, 0, 0, {}, pending=Pending("reset", list(plan.topics)))
    _publish(app, fresh)
    failpoint("reset.begun")
    for topic in plan.topics:
        app.log.delete_topic(topic)
        tell(f"deleted {topic}")
        failpoint("reset.topic")
    for folder in plan.folders:
        shutil.rmtree(folder, ignore_errors=True)
        # What stays is of another incarnation from now on, and is not used again.
        tell(
            f"{folder} cannot be deleted, and is of no use any more"
            if folder.exists()
            else f"deleted {folder}"
        )
    failpoint("reset.local")
    app.log.forget_positions(plan.application_id)
    _publish(app, CommitRecord(fresh.incarnation, 0, 0, dict(plan.positions)))
    failpoint("reset.done")


def _publish(app: Stopped, record: CommitRecord) -> None:
    positions = {
        TopicPartition(topic, partition): offset
        for topic, offsets in record.positions.items()
        for partition, offset in enumerate(offsets)
    }
    data = encode(record)
    app.publisher.publish(Publication([], [], positions, lambda ends: data, {TOPOLOGY: None}))


def _sources(topology: Topology, existing: Mapping[str, int], application_id: str) -> list[str]:
    """The topics of the user's that it reads, patterns matched; not those of global tables, which have no positions."""
    found = [
        topic for topics in source_topics(topology, existing, application_id).values() for topic in topics
    ]
    return sorted(dict.fromkeys(found))


def _sinks(topology: Topology) -> list[str]:
    return [
        sink.topic
        for sub in topology.sub_topologies()
        for sink in sub.sinks
        if not sink.repartition and sink.topic is not None
    ]
