"""The rows on their way: into changelogs with as many partitions as there will be tasks.

First all rows are written to topics beside the changelogs; the application is as it was, and broken off here nothing
has happened. Then one commit record says that the rescaling is under way and where the rows are: from there it only
goes forward. Each changelog is deleted, made anew with the new number of partitions, and filled from beside. The last
commit record has the new number of tasks and a new incarnation. Broken off, the second part is done again.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from headrace.admin.rescale.placing import Moved
from headrace.admin.rescale.plan import RescalePlan
from headrace.admin.rescale.survey import OldRows
from headrace.admin.stopped import Stopped, local_folders
from headrace.failpoints import failpoint
from headrace.log.base import Outgoing, Publication, TopicPartition
from headrace.partitioning import partitions_for
from headrace.record import NO_HEADERS
from headrace.spark.changelogs import memory_store
from headrace.spark.commit import CommitRecord, Pending, encode
from headrace.spark.hosted import MEMORY
from headrace.state import CHANGELOG_HEADERS

PORTION = 50_000
"""Records that are written at once."""
PORTION_BYTES = 16 * 1024 * 1024
BESIDE = "-rescaled"

Progress = Callable[[str, int], None]
"""Called with what is being done, and how many records more are done."""

Row = tuple[bytes, bytes | None, int]


def rescale(app: Stopped, plan: RescalePlan, progress: Progress = lambda doing, count: None) -> None:
    """Do it all."""
    writer = _Writer(app, plan.commit)
    _delete(app, [f"{topic}{BESIDE}" for topic in plan.topics])
    for topic, (partitions, _) in plan.topics.items():
        app.log.create_topic(topic + BESIDE, partitions, {"cleanup.policy": "delete", "retention.ms": "-1"})
    for counted in plan.stores:
        moved = counted.moved
        topic = plan.new.changelog(moved.spec.name)
        for portion in _portions(plan.rows, moved):
            writer.write(_placed(topic + BESIDE, moved, portion, plan.tasks))
            progress(f"moving `{moved.spec.name}`", len(portion))
            failpoint("rescale.portion")
    progress("moving what tasks remember", _move_memories(plan, writer))
    failpoint("rescale.beside")
    existing = app.log.topics()
    settings = {
        topic: {**wanted, **(app.log.describe(topic).config if topic in existing else {})}
        for topic, (_, wanted) in plan.topics.items()
    }
    ends = {topic: writer.ends_of(topic + BESIDE, plan.tasks) for topic in plan.topics}
    pending = Pending("rescale", sorted(plan.topics), plan.tasks, ends, settings)
    writer.commit(msgspec.structs.replace(plan.commit, pending=pending))
    failpoint("rescale.switched")
    finish(app, msgspec.structs.replace(plan.commit, pending=pending), progress)


def finish(app: Stopped, commit: CommitRecord, progress: Progress = lambda doing, count: None) -> None:
    """The second part, also of a rescaling that was broken off in it."""
    pending = commit.pending
    assert pending is not None and pending.tasks is not None
    writer = _Writer(app, commit)
    for topic in pending.topics:
        _delete(app, [topic])
        app.log.create_topic(topic, pending.tasks, pending.settings[topic])
        for partition, end in enumerate(pending.ends[topic]):
            for count in writer.copy(TopicPartition(topic + BESIDE, partition), end, topic):
                progress(f"filling `{topic}`", count)
        failpoint("rescale.replaced")
    ends = {topic: writer.ends_of(topic, pending.tasks) for topic in pending.topics}
    done = msgspec.structs.replace(
        commit,
        incarnation=uuid.uuid4().hex,
        number=commit.number + 1,
        tasks={},
        ends={**commit.ends, **ends},
        pending=None,
        task_count=pending.tasks,
    )
    writer.commit(done)
    failpoint("rescale.done")
    clear_away(app, done)


def left_over(app: Stopped, commit: CommitRecord) -> list[str]:
    """The topics that a rescaling has left which was broken off at its very end."""
    return sorted(app.log.topics().keys() & {topic + BESIDE for topic in commit.ends})


def clear_away(app: Stopped, commit: CommitRecord) -> None:
    """What is of no use after a rescaling."""
    _delete(app, left_over(app, commit))
    # They are of another incarnation now: nobody would use them again.
    for folder in local_folders(app.config):
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True)
class _Writer:
    """Writes rows as the application itself would: in transactions, so that nobody else can."""

    app: Stopped
    record: CommitRecord
    ends: dict[TopicPartition, int] = field(default_factory=dict)

    def write(self, rows: Outgoing) -> None:
        """Write some rows; the commit record stays as it is."""
        self._publish([rows], self.record)

    def commit(self, record: CommitRecord) -> None:
        """Write a new commit record."""
        self.record = record
        self._publish([], record)

    def copy(self, place: TopicPartition, end: int, topic: str) -> Iterator[int]:
        """Write the records of a partition to the same one of another topic; yields how many at a time."""
        first = self.app.log.earliest([place])[place]
        for chunk in self.app.log.read({place: (first, end)} if first < end else {}):
            self.write(
                Outgoing(topic, chunk.keys, chunk.values, chunk.timestamps, chunk.headers, place.partition)
            )
            yield len(chunk)

    def ends_of(self, topic: str, partitions: int) -> list[int]:
        """Where the partitions of a topic end by now."""
        return [self.ends.get(TopicPartition(topic, partition), 0) for partition in range(partitions)]

    def _publish(self, rows: Sequence[Outgoing], record: CommitRecord) -> None:
        data = encode(record)
        positions = {
            TopicPartition(topic, partition): offset
            for topic, offsets in record.positions.items()
            for partition, offset in enumerate(offsets)
        }
        self.ends.update(self.app.publisher.publish(Publication([], rows, positions, lambda ends: data)))


def _portions(rows: OldRows, moved: Moved) -> Iterator[list[Row]]:
    """The rows of a store in portions. In each of them only the last record of a key, unless all of them count."""
    spec = moved.spec
    if spec.kind == "versioned" or spec.max_entries:
        # What comes later in time must come later here, too, whatever task it was in: an old version behind a new one
        # would be taken for one that is too old, and which row was used last decides what makes room.
        every = [row for part in _all(rows, moved) for row in part]
        every.sort(key=lambda row: row[2])
        for start in range(0, len(every), PORTION):
            yield every[start : start + PORTION]
        return
    last: dict[bytes, tuple[bytes | None, int]] = {}
    size = 0
    for part in _all(rows, moved):
        for key, value, timestamp in part:
            last[key] = (value, timestamp)
            size += len(key) + len(value or b"")
        if len(last) >= PORTION or size >= PORTION_BYTES:
            yield [(key, *rest) for key, rest in last.items()]
            last, size = {}, 0
    if last:
        yield [(key, *rest) for key, rest in last.items()]


def _all(rows: OldRows, moved: Moved) -> Iterator[list[Row]]:
    for task in range(moved.placement.tasks):
        for part in rows.of(moved, task):
            yield list(zip(*part, strict=True))


def _placed(topic: str, moved: Moved, portion: Sequence[Row], tasks: int) -> Outgoing:
    keys, values, timestamps = map(list, zip(*portion, strict=True))
    marks = CHANGELOG_HEADERS.get(moved.spec.kind)
    headers = None if marks is None else [NO_HEADERS if value is None else marks for value in values]
    targets = np.asarray(partitions_for(list(map(moved.key_of, keys)), tasks)).tolist()
    return Outgoing(topic, keys, values, timestamps, headers, targets)


def _move_memories(plan: RescalePlan, writer: _Writer) -> int:
    """What the tasks remember; how many rows that is."""
    for memories in plan.memories:
        if memories.new:
            count = len(memories.new)
            writer.write(
                Outgoing(
                    plan.new.changelog(memory_store(memories.sub)) + BESIDE,
                    [MEMORY] * count,
                    list(memories.new.values()),
                    [memories.written] * count,
                    None,
                    list(memories.new),
                )
            )
    return sum(len(memories.new) for memories in plan.memories)


def _delete(app: Stopped, topics: Sequence[str]) -> None:
    existing: Mapping[str, int] = app.log.topics()
    for topic in topics:
        if topic in existing:
            app.log.delete_topic(topic)
