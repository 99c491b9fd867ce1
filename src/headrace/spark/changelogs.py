"""The changelogs of one task: what the log says is true of its stores, and the records that make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from headrace.config import StreamsConfig
from headrace.log.base import Chunk, TopicLog, TopicPartition
from headrace.record import TaskId
from headrace.spark.commit import CommitRecord
from headrace.spark.layout import Layout, Placement
from headrace.state.stamps import TASK_STORE, Accepted, ReadChangelog, Stamp
from headrace.task import changes_of_topic


def memory_store(sub: int) -> str:
    """The store name under which what tasks remember has its changelog: `<application-id>-task-<n>-changelog`."""
    return f"task-{sub}"


def standby_copies(config: StreamsConfig, task_id: TaskId) -> list[Path]:
    """Where standbys of this host keep copies of a task's stores."""
    return sorted(config.standby_path.glob(f"[0-9]*/{task_id}"))


class TaskChangelogs:
    """Names them, and reads them; whoever fills stores from them does the rest: a task, a standby, a drill."""

    def __init__(self, layout: Layout, placement: Placement, task_id: TaskId, config: StreamsConfig) -> None:
        self._layout = layout
        self._config = config
        self.id = task_id
        self.placement = placement

    def accepted(self, base: CommitRecord) -> Accepted:
        """What the log says is true of this task."""
        known = base.tasks.get(str(self.id))
        stamp = None if known is None else Stamp(base.incarnation, known.commit, known.attempt)
        ends = {}
        for spec in self.placement.sub.stores:
            if spec.changelog_topic is not None:
                # A table's own topic is its changelog as far as it has been read.
                ends[spec.name] = self._end(base.positions, spec.name)
            elif spec.logging:
                ends[spec.name] = self._end(base.ends, spec.name)
        ends[TASK_STORE] = self._end(base.ends, memory_store(self.id.subtopology))
        if stamp is None and any(ends.values()):
            # In another version of the topology these stores belonged to a task with another number.
            stamp = Stamp(base.incarnation, 0, "")
        return Accepted(stamp, ends)

    def topic(self, store: str) -> str:
        """The topic that a store is filled from."""
        name = memory_store(self.id.subtopology) if store == TASK_STORE else store
        return self._layout.changelog(name)

    def reading(self, log: Callable[[], TopicLog]) -> ReadChangelog:
        """What reads records of a store's changelog, for catching up or rebuilding."""

        def read(store: str, start: int, end: int) -> Iterator[Chunk]:
            place = TopicPartition(self.topic(store), self.id.partition)
            first = log().earliest([place])[place]
            if max(start, first) >= end:
                return
            chunks = log().read({place: (max(start, first), end)})
            yield from chunks if (change := self._table_topic(store)) is None else map(change, chunks)

        return read

    def _end(self, ends: Mapping[str, Sequence[int]], store: str) -> int:
        known = ends.get(self._layout.changelog(store), [])
        return known[self.id.partition] if self.id.partition < len(known) else 0

    def _table_topic(self, store: str) -> Callable[[Chunk], Chunk] | None:
        """For a store whose changelog is its table's topic: what makes changes of the topic's records."""
        for spec in self.placement.sub.stores:
            if spec.name == store and spec.changelog_topic is not None:
                source = next(s for s in self.placement.sub.sources if spec.changelog_topic in s.topics)
                return changes_of_topic(source, spec, self._config)
        return None
