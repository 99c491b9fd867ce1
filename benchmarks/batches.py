"""Where the time of a batch goes: on the way that takes longest, from one plan to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from benchmarks import machine
from benchmarks.markdown import markdown

Result = Mapping[str, Any]

SMALL = 5_000

OUTSIDE = {
    "next": "from the last commit to the plan",
    "plan": "from the plan to the job (Spark plans the batch)",
}
INSIDE = {
    "start_readers": "Spark starts the readers",
    "read": "read the log",
    "head": "stateless head",
    "read_pack": "pack for the shuffle, by key",
    "read_send": "hand to Spark",
    "start_tasks": "Spark shuffles and starts the tasks",
    "prepare": "bring stores to the base",
    "unpack": "unpack the shuffle",
    "process": "task",
    "wait": "wait for the commit under the batch",
    "commit": "local commit",
    "pack": "pack outputs and changelogs",
    "task_send": "hand to Spark",
    "collect": "Spark collects the results",
}
AFTER = {
    "sort": "sort rows by topic",
    "behind": "wait for the commit before",
}


def batches(many: Sequence[Result]) -> str:
    """The mean batch, without the first (it is small, and starts everything)."""
    used = [batch for batch in many[1:] if batch["records"]]
    if not used:
        return "too few batches to tell"
    count = len(used)
    records = sum(batch["records"] for batch in used) / count
    wall = sum(batch["wall"] for batch in used) / count
    mean = {
        name: sum(batch["seconds"].get(name, 0.0) for batch in used) / count
        for name in (*OUTSIDE, "run", *AFTER)
    }
    inside: dict[str, float] = {}
    for batch in used:
        for name, seconds in busiest(batch).items():
            inside[name] = inside.get(name, 0.0) + seconds / count
    rows = [(OUTSIDE[name], mean[name]) for name in OUTSIDE]
    rows += [(f"job: {INSIDE[name]}", inside[name]) for name in INSIDE if name in inside]
    rows += [(AFTER[name], mean[name]) for name in AFTER]
    publish = sum(batch["seconds"]["publish"] for batch in used) / count
    table = [
        [name, f"{seconds * 1000:.1f}", f"{100 * seconds / wall:.0f} %", f"{seconds * 1e6 / records:.2f}"]
        for name, seconds in [*rows, ("a batch", wall), ("beside the next one: one transaction", publish)]
    ]
    # With few records in a batch, its costs are not theirs.
    columns = [f"{count} batches of {records:,.0f} records", "ms", "share", "µs a record"]
    width = len(columns) if records > SMALL else len(columns) - 1
    return markdown(columns[:width], [row[:width] for row in table])


def busiest(batch: Result) -> dict[str, float]:
    """Seconds by name on the way that takes longest: the last reader to end, then the last task to end."""
    found: dict[str, float] = {}
    at, end = batch["seconds"]["plan"], batch["seconds"]["plan"] + batch["seconds"]["run"]
    readers = [task for task in batch["tasks"] if task["task"].startswith("reader-")]
    stage = [task for task in batch["tasks"] if task["seconds"] and task not in readers]
    for name, tasks in (("start_readers", readers), ("start_tasks", stage)):
        if tasks:
            chain = _chain(tasks)
            found[name] = chain[0]["began"] - at
            between = sum(later["began"] - _end(task) for task, later in pairwise(chain))
            if between:
                found["task_send"] = between
            for task in chain:
                for phase, seconds in task["seconds"].items():
                    found[phase] = found.get(phase, 0.0) + seconds
            at = _end(chain[-1])
    found["collect"] = end - at
    return found


def _chain(tasks: Sequence[Result]) -> list[Result]:
    """The tasks that ran one after the other in one process, up to the one that ended last."""
    last = max(tasks, key=_end)
    chain = [last]
    for task in sorted(tasks, key=_end, reverse=True):
        if _end(task) <= chain[0]["began"] and _slot(task, tasks) == _slot(last, tasks):
            chain.insert(0, task)
    return chain


def _end(task: Result) -> float:
    return task["began"] + sum(task["seconds"].values())


def _slot(task: Result, tasks: Sequence[Result]) -> int:
    """Tasks of one number modulo the slots share a process."""
    number = task["task"].replace("-", "_").split("_")[1]
    return int(number) % min(machine.CORES, len(tasks))
