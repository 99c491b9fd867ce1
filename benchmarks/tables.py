"""Results as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from benchmarks import machine

Result = Mapping[str, Any]

TITLES = {
    "embedded": "Headrace, embedded log",
    "kafka": "Headrace, Kafka, exactly once",
    "native": "Spark's `groupBy().agg()`, embedded log ¹",
    "java": "Java Kafka Streams 4.3.1, exactly once",
}
NOTE = (
    "¹ RocksDB state store, the same batches; it writes one row per key and batch, not every update, "
    "and without a transaction."
)


def markdown(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; numbers with separators."""
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "**NO**"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def throughput(workload: str, results: Mapping[str, Result]) -> str:
    """Rows of one workload; `results` by kind."""
    columns = ["", "records/s", "warm", "× Spark", "× Java", "start-up s", "s", "CPU s", "broker CPU s"]
    columns += ["RSS MB", "outputs", "verified", "others %", "load"]
    rows = []
    for kind, result in results.items():
        if "error" in result:
            rows.append([TITLES[kind], f"failed: {result['error'][:200]}", *[""] * (len(columns) - 2)])
            continue
        rows.append(
            [
                TITLES[kind],
                result["rate"],
                result["warm_rate"],
                _ratio(result, results.get("native")),
                _ratio(result, results.get("java")),
                result["startup_s"],
                result["seconds"],
                result["cpu_s"],
                result["broker_cpu_s"] if kind in ("kafka", "java") else None,
                result["rss_mb"],
                result["outputs"],
                result["verified"],
                result["others_percent"],
                result["load"],
            ]
        )
    note = f"\n\n{NOTE}" if "native" in results else ""
    return markdown([workload.upper(), *columns[1:]], rows) + note


def _ratio(result: Result, to: Result | None) -> str | None:
    """Cold and warm, where there are both."""
    if to is None or "error" in to or to is result:
        return None
    cold = f"{result['rate'] / to['rate']:.2f}"
    if result["warm_rate"] and to["warm_rate"]:
        return f"{cold} ({result['warm_rate'] / to['warm_rate']:.2f})"
    return cold


def latencies(results: Mapping[str, Result]) -> str:
    """Latency; `results` by kind."""
    columns = ["500 records/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "p50 × Java", "CPU %", "RSS MB"]
    columns += ["samples", "load"]
    names = ["p50_ms", "p95_ms", "p99_ms", "max_ms", "ratio", "cpu_percent", "rss_mb", "samples", "load"]
    java = results.get("java", {}).get("p50_ms")
    rows = []
    for kind, result in results.items():
        if "error" in result:
            rows.append([TITLES[kind], f"failed: {result['error'][:200]}", *[""] * (len(columns) - 2)])
            continue
        ratio = f"{result['p50_ms'] / java:.1f}" if java and kind != "java" else None
        cells = {**result, "ratio": ratio}
        rows.append([TITLES[kind], *[cells[name] for name in names]])
    return markdown(columns, rows)


SMALL = 5_000

# --- where a batch's time goes --------------------------------------------------------------------------------------

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
    "commit": "local commit",
    "pack": "pack outputs and changelogs",
    "task_send": "hand to Spark",
    "collect": "Spark collects the results",
}
AFTER = {
    "sort": "sort rows by topic",
    "publish": "publish: one transaction",
    "tell": "tell the planner",
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
    rows += [("the rest (queries' snapshots, listeners)", wall - sum(mean.values()))]
    table = [
        [name, f"{seconds * 1000:.1f}", f"{100 * seconds / wall:.0f} %", f"{seconds * 1e6 / records:.2f}"]
        for name, seconds in [*rows, ("a batch", wall)]
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
