"""What a rescaling does: which stores go from how many tasks to how many, and how much that is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from headrace.admin.rescale.memories import Memories, new_memories
from headrace.admin.rescale.placing import Moved, stores_to_move
from headrace.admin.rescale.survey import Counted, OldRows, Seen, survey
from headrace.admin.stopped import Stopped
from headrace.app.topics import internal_topics
from headrace.app.upgrading import is_the_kept_one
from headrace.errors import RescaleError
from headrace.spark.commit import CommitRecord
from headrace.spark.layout import HEAD, Layout, Placement, lay_out
from headrace.topology.nodes import SubTopology


@dataclass(frozen=True, slots=True)
class RescalePlan:
    """Everything is known; nothing is done yet."""

    application_id: str
    commit: CommitRecord
    old: Layout
    new: Layout
    tasks: int
    stores: tuple[Counted, ...]
    rows: OldRows
    topics: Mapping[str, tuple[int, dict[str, str]]]
    """The changelogs as they will be: partitions and settings."""
    memories: tuple[Memories, ...]

    @property
    def total(self) -> int:
        """How many records are to be read and written."""
        return sum(counted.records for counted in self.stores) + sum(len(each.new) for each in self.memories)

    def lines(self) -> Iterator[str]:
        """The plan for a reader."""
        width = max((len(counted.moved.spec.name) for counted in self.stores), default=0)
        for placement in _with_tasks(self.old):
            sub = placement.sub.id
            yield f"sub-topology {sub}: {_tasks(placement.tasks)} become {self.tasks}"
            for counted in self.stores:
                if counted.moved.placement.sub.id == sub:
                    name = counted.moved.spec.name
                    yield f"  store {name:<{width}}  {counted.keys:>12,} keys  {counted.size:>15,} bytes"
            apart = next(memories.apart for memories in self.memories if memories.sub == sub)
            if apart:
                yield (
                    f"  its tasks are up to {timedelta(milliseconds=apart)} apart in stream time: the latest counts "
                    "for all, and what is older by more than its grace is late"
                )
        yield "input positions stay, nothing is read again; local stores are filled from the new changelogs"


def plan_rescale(
    app: Stopped, tasks: int, *, keyed: Collection[str] = (), seen: Seen = lambda count: None
) -> RescalePlan:
    """Look at everything, and refuse what cannot be done; change nothing."""
    application_id, commit = app.config.application_id, app.commit
    if commit is None or not commit.number:
        raise RescaleError(
            f"application `{application_id}` has committed nothing yet, so there is nothing to rescale: give its "
            "topics the partitions that you want"
        )
    if commit.pending is not None:
        raise RescaleError(
            f"`headrace {commit.pending.kind}` of application `{application_id}` was begun and has not come to its "
            "end: run it again"
        )
    if not is_the_kept_one(app.log, app.topology, app.config):
        raise RescaleError(
            f"the topology is not the one that made the last commit of application `{application_id}`: start this "
            "version once, and rescale it then"
        )
    available = dict(app.log.topics())
    before = available | {topic: len(at) for topic, at in commit.positions.items() if topic in available}
    extractor = app.config.default_timestamp_extractor
    old = lay_out(app.topology, application_id, before, extractor, commit.task_count)
    new = lay_out(app.topology, application_id, available, extractor, tasks)
    rows = OldRows(app, old, commit)
    moved: tuple[Moved, ...] = stores_to_move(old, app.config, keyed)
    counted = survey(rows, moved, seen)
    if old.by_key is False and not all(each.hashed for each in counted):
        _refuse_shuffled_strays(counted)
    topics = {
        name: wanted
        for name, wanted in internal_topics(new, app.config).items()
        if name.removeprefix(f"{application_id}-") not in new.looped
    }
    memories = tuple(
        new_memories(
            placement.sub.id,
            [rows.memory(placement.sub.id, task) for task in range(placement.tasks)],
            tasks,
            hashed=_is_hashed(old, placement.sub, counted),
        )
        for placement in _with_tasks(old)
    )
    return RescalePlan(application_id, commit, old, new, tasks, tuple(counted), rows, topics, memories)


def _with_tasks(layout: Layout) -> list[Placement]:
    return [placement for placement in layout.placements if placement.stage > HEAD]


def _is_hashed(old: Layout, sub: SubTopology, stores: Collection[Counted]) -> bool:
    """Whether each key of a sub-topology was in the task that its hash says."""
    if old.by_key or all(source.repartition for source in sub.sources):
        return True
    mine = [counted for counted in stores if counted.moved.placement.sub.id == sub.id]
    return bool(mine) and all(counted.hashed for counted in mine)


def _refuse_shuffled_strays(stores: Collection[Counted]) -> None:
    """Where we have placed the records ourselves, a row in the wrong task is damage, or a hidden partitioner."""
    for counted in stores:
        sub = counted.moved.placement.sub
        if not counted.hashed and all(source.repartition for source in sub.sources):
            key = next(iter(counted.elsewhere))
            raise RescaleError(
                f"the key {key!r} of store `{counted.moved.spec.name}` is in task {counted.elsewhere[key]}, and its "
                "hash says another one: its rows are not under the keys of their records",
                origin=counted.moved.spec.origin,
            )


def _tasks(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"
