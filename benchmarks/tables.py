"""Results as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.batches import batches
from benchmarks.markdown import markdown

Result = Mapping[str, Any]

TITLES = {
    "embedded": "Headrace, embedded log",
    "kafka": "Headrace, Kafka, exactly once",
    "native": "Spark's `groupBy().agg()`, embedded log ¹",
    "perkey": "Spark's `transformWithState`, a Python processor per key",
    "java": "Java Kafka Streams 4.3.1, exactly once",
}
NOTE = (
    "¹ RocksDB state store, the same batches; it writes one row per key and batch, not every update, "
    "and without a transaction."
)


def report(results: Mapping[str, Result]) -> str:
    """All tables of a run; `results` by row."""
    parts = [
        throughput(workload, found) for workload in ("w1", "w2", "w3") if (found := of(workload, results))
    ]
    if found := of("latency", results):
        parts.append(latencies(found))
    if first := fine(results, "first"):
        parts.append(
            f"First output {first['seconds']} s after the start of `headrace run` "
            f"({first['cpu_s']} CPU s); {first.get('archive_seconds')} s ({first.get('archive_cpu_s')} CPU s) from the "
            f"third run on, with an archive of Java's classes; load {first['load']}."
        )
    restored = {TITLES[kind]: found for kind, found in of("restore", results).items() if "error" not in found}
    if restored:
        parts.append(restores(restored))
    if sizes := fine(results, "commits"):
        parts.append(commits(sizes["sizes"]))
    parts += [
        f"Where a batch's time goes, {row}:\n\n{batches(found['batches'])}"
        for row in ("w1-embedded", "w1-kafka", "latency-embedded", "latency-kafka")
        if (found := fine(results, row))
    ]
    parts += [
        f"{found['title']}:\n\n{costs(found)}"
        for row in results
        if row.startswith("costs") and (found := fine(results, row))
    ]
    failed = [f"{row} failed: {found['error'][:300]}" for row, found in results.items() if "error" in found]
    return "\n\n".join([*parts, *failed])


def of(kind: str, results: Mapping[str, Result]) -> dict[str, Result]:
    """The rows of a kind, by what follows in their names."""
    return {row.partition("-")[2]: found for row, found in results.items() if row.startswith(f"{kind}-")}


def fine(results: Mapping[str, Result], row: str) -> Any:
    """A result, if there is one."""
    found = results.get(row, {"error": ""})
    return None if "error" in found else found


def restores(results: Mapping[str, Result]) -> str:
    """One row for each log."""
    names = ["keys", "seconds", "keys_per_s", "waiting_for_the_log", "load"]
    columns = ["restore", "keys", "seconds", "keys/s", "share of waiting for the log", "load"]
    return markdown(columns, [[title, *[found[name] for name in names]] for title, found in results.items()])


def commits(sizes: Sequence[Result]) -> str:
    """One row for each size of state, with what the smallest one takes as the unit."""
    first = sizes[0]
    columns = [
        "keys of state",
        "local commit, ms",
        "commit, ms",
        "batch, ms",
        "commit, ×",
        "batch, ×",
        "load",
    ]
    rows = [
        (
            found["keys"],
            found["local_ms"],
            found["commit_ms"],
            found["batch_ms"],
            f"{found['commit_ms'] / first['commit_ms']:.2f}",
            f"{found['batch_ms'] / first['batch_ms']:.2f}",
            found["load"],
        )
        for found in sizes
    ]
    return markdown(columns, rows)


def costs(result: Result) -> str:
    """Phases in microseconds a record."""
    rows = [(name, f"{seconds * 1e6 / result['records']:.2f}") for name, seconds in result["phases"]]
    return markdown([f"{result['records']:,} records, load {result['load']}", "µs a record"], rows)


def throughput(workload: str, results: Mapping[str, Result]) -> str:
    """Rows of one workload; `results` by kind."""
    columns = [
        "",
        "records",
        "records/s",
        "warm",
        "× Spark",
        "× per key",
        "× Java",
        "start-up s",
        "s",
        "CPU s",
    ]
    columns += [
        "broker CPU s",
        "RSS MB",
        "checkpoint bytes a record",
        "outputs",
        "verified",
        "others %",
        "load",
    ]
    rows = []
    for kind, result in results.items():
        if "error" in result:
            rows.append([TITLES[kind], f"failed: {result['error'][:200]}", *[""] * (len(columns) - 2)])
            continue
        rows.append(
            [
                TITLES[kind],
                result["records"],
                result["rate"],
                result["warm_rate"],
                _ratio(result, results.get("native")),
                _ratio(result, results.get("perkey")),
                _ratio(result, results.get("java")),
                result["startup_s"],
                result["seconds"],
                result["cpu_s"],
                result["broker_cpu_s"] if kind in ("kafka", "java") else None,
                result["rss_mb"],
                result["checkpoint_bytes"] if kind != "java" else None,
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
    if to is None or "error" in to or to is result or not to["rate"]:
        return None
    cold = f"{result['rate'] / to['rate']:.2f}"
    if result["warm_rate"] and to["warm_rate"]:
        return f"{cold} ({result['warm_rate'] / to['warm_rate']:.2f})"
    return cold


def latencies(results: Mapping[str, Result]) -> str:
    """Latency; `results` by kind."""
    columns = ["500 records/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "p50 × Java", "p99 × Java", "CPU %"]
    columns += ["CPU % idle", "broker", "RSS MB", "samples", "load"]
    names = ["p50_ms", "p95_ms", "p99_ms", "max_ms", "p50", "p99", "cpu_percent", "idle_percent"]
    names += ["broker_idle_percent", "rss_mb", "samples", "load"]
    java = results.get("java", {})
    rows = []
    for kind, result in results.items():
        if "error" in result:
            rows.append([TITLES[kind], f"failed: {result['error'][:200]}", *[""] * (len(columns) - 2)])
            continue
        compared = "p50_ms" in java and kind != "java"
        ratios = {
            p: f"{result[f'{p}_ms'] / java[f'{p}_ms']:.2f}" if compared else None for p in ("p50", "p99")
        }
        cells = {**result, **ratios}
        rows.append([TITLES[kind], *[cells.get(name) for name in names]])
    return markdown(columns, rows)
