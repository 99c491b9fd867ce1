"""Runs with and without a rescaling in the middle, and what must be equal between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from headrace.admin.rescale.moving import rescale
from headrace.admin.rescale.placing import stores_to_move
from headrace.admin.rescale.plan import RescalePlan, plan_rescale
from headrace.admin.rescale.survey import OldRows
from headrace.admin.stopped import stopped
from headrace.spark.layout import lay_out
from headrace.topology.foreign_key import KeepSubscription
from headrace.topology.nodes import ProcessorNode
from headrace.topology.stores import StoreSpec
from headrace.topology.topology import Topology
from tests.spark.harness.records import Part, by_key, encoded, flat
from tests.spark.harness.sparkless import Sparkless

_MARK = "time-"
"""In keys that are there to move the time on, and are not compared."""


def to(app: Sparkless, tasks: int, **options: Any) -> RescalePlan:
    """Rescale a stopped application."""
    told: Counter[str] = Counter()
    with stopped(app.topology, app.config) as found:
        plan = plan_rescale(found, tasks, **options)
        rescale(found, plan, lambda doing, count: told.update({doing.partition(" ")[0]: count}))
    assert told["moving"] == told["filling"] <= plan.total, "as many of as many"
    return plan


How = Literal["in order", "all", "last"]
"""How outputs are compared, key by key: as they were written; how often what was, where the moment depends on other
keys of the task; or what was written last, where what is on its way through a loop depends on the batches.
"""


def outputs(app: Sparkless, topics: Sequence[str], how: How) -> dict[str, dict[bytes | None, Any]]:
    """What was written under each key."""
    found: dict[str, dict[bytes | None, Any]] = {}
    for topic in topics:
        written = by_key(flat(app.read(topic)))
        found[topic] = {
            key: rows
            if how == "in order"
            else Counter(rows)
            if how == "all"
            else (rows[-1].key, rows[-1].value)
            for key, rows in written.items()
            if not _moves_time(key)
        }
    return found


def rows(app: Sparkless, topology: Topology) -> dict[str, Counter[tuple[bytes, bytes, int]]]:
    """What is in the stores of all tasks together, as the changelogs have it; what depends on the number of a task, or
    on how many rows it has written before, is left out.
    """
    subscriptions = {
        node.operator.store
        for node in topology.nodes.values()
        if isinstance(node, ProcessorNode) and isinstance(node.operator, KeepSubscription)
    }
    found: dict[str, Counter[tuple[bytes, bytes, int]]] = {}
    with stopped(topology, app.config, only_look=True) as looked:
        assert looked.commit is not None
        layout = lay_out(topology, "app", app.log.topics(), task_count=looked.commit.task_count)
        old = OldRows(looked, layout, looked.commit)
        for moved in stores_to_move(layout, app.config):
            everything = found[moved.spec.name] = Counter()
            for task in range(moved.placement.tasks):
                last: dict[Any, tuple[bytes, bytes | None, int]] = {}
                for part in old.of(moved, task):
                    for row in zip(*part, strict=True):
                        last[len(last) if moved.spec.kind == "versioned" else row[0]] = row
                everything.update(
                    _plain(key, value, timestamp, moved.spec, moved.spec.name in subscriptions)
                    for key, value, timestamp in last.values()
                    if value is not None and not _moves_time(key)
                )
    return found


def _plain(
    key: bytes, value: bytes, timestamp: int, spec: StoreSpec, subscription: bool
) -> tuple[bytes, bytes, int]:
    if spec.retain_duplicates or spec.kind == "grace_buffer":
        key = key[:-4]
    return key, value[:-4] if subscription else value, timestamp


def compare(
    build: Callable[[], Topology],
    folder: Path,
    parts: Sequence[Part],
    path: Sequence[int],
    *,
    how: How = "in order",
    without: Sequence[str] = (),
    last: Sequence[Part] = (),
    stores: bool = True,
    **settings: Any,
) -> None:
    """The same with `path[0]` partitions and tasks all the time, and with the other numbers of tasks in turn."""
    topology = build()
    runs = []
    for name, steps in (("never", path[:1]), ("rescaled", path)):
        app = Sparkless(topology, folder / name, partitions=path[0], **settings)
        try:
            size = -(-len(parts) // len(path))
            pieces = [parts[start : start + size] for start in range(0, len(parts), size)]
            for number, piece in enumerate(pieces):
                if 0 < number < len(steps):
                    to(app, steps[number])
                app.run(piece)
            app.run(last)
            assert {n for t, n in app.log.topics().items() if t.endswith("-changelog")} == {steps[-1]}
            topics = [t for t in app.log.topics() if not t.startswith("app-") and t not in without]
            runs.append((outputs(app, topics, how), rows(app, topology) if stores else None))
        finally:
            app.close()
    (expected, expected_rows), (got, got_rows) = runs
    assert got.keys() == expected.keys()
    for topic, written in expected.items():
        assert got[topic] == written, topic
    assert got_rows == expected_rows


def every_task(topics: Sequence[str], time: int) -> Part:
    """A record for so many keys that every task gets one, so that the time of all tasks moves on."""
    return {topic: [encoded(f"{_MARK}{n}", f"z{n}", time + n) for n in range(40)] for topic in topics}


def _moves_time(key: bytes | None) -> bool:
    return key is not None and _MARK.encode() in key
