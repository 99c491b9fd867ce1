"""`make bench`: how fast Headrace is, beside Spark's own aggregation and Java Kafka Streams. See README.md."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks import costs, kafka_costs, machine, rows, tables
from benchmarks.setting import Setting

ROOT = Path(__file__).resolve().parent.parent
CATCH_UP = {"embedded": rows.embedded, "native": rows.native, "kafka": rows.kafka, "java": rows.java}
LATENCY = {
    "embedded": rows.latency_embedded,
    "kafka": rows.latency_kafka,
    "java": rows.latency_java,
}
COSTS = {"task": costs.task, "publish": kafka_costs.publish}
ROWS = [
    "first",
    *("w1-embedded", "w1-native", "w1-kafka", "w1-java"),
    *("w2-embedded", "w2-kafka", "w2-java"),
    *("w3-embedded", "w3-kafka", "w3-java"),
    *("latency-embedded", "latency-kafka", "latency-java"),
    *("costs-task", "costs-publish"),
]
DEFAULT = [row for row in ROWS if row not in ("w2-java", "w3-java", "w2-kafka", "w3-kafka")]


class Bench:
    """One run: rows in order, each kept even when another one fails."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.started = time.time()
        self.results: dict[str, dict[str, Any]] = {}
        self.setting = Setting(ROOT / "build" / f"benchmark-{os.getpid()}", args.records, self.say)

    def say(self, text: str) -> None:
        print(f"[{time.time() - self.started:4.0f} s] {text}", file=sys.stderr, flush=True)

    def run(self) -> None:
        try:
            self._fill()
            for row in self.args.only:
                self._row(row)
        except KeyboardInterrupt:
            self.say("interrupted: stopping what was started")
        finally:
            self.setting.close()

    def _fill(self) -> None:
        wanted = [row.split("-") for row in self.args.only if row[0] == "w"]
        places = {
            kind: {rows.source_of(workload) for workload, found in wanted if found in kinds}
            for kind, kinds in (("embedded", ("embedded", "native")), ("kafka", ("kafka", "java")))
        }
        self.setting.fill(**places)

    def _row(self, row: str) -> None:
        kind, _, name = row.partition("-")
        action: Callable[[], dict[str, Any]]
        if kind == "first":
            action = lambda: rows.first(self.setting)  # noqa: E731
        elif kind == "latency":
            action = lambda: LATENCY[name](self.setting, self.args.seconds)  # noqa: E731
        elif kind == "costs":
            action = lambda: COSTS[name](self.setting)  # noqa: E731
        else:
            action = lambda: CATCH_UP[name](self.setting, kind)  # noqa: E731
        self.say(f"{row} …")
        try:
            result = action()
        except Exception as error:
            traceback.print_exc()
            result = {"error": " ".join(f"{type(error).__name__}: {error}".split())}
        self.results[row] = result
        brief = {name: value for name, value in result.items() if name not in ("batches", "phases")}
        self.say(f"{row}: {json.dumps(brief)}")
        if self.args.out:
            with Path(self.args.out).open("a") as out:
                out.write(json.dumps({"row": row, "at": round(time.time()), **result}) + "\n")

    def report(self) -> str:
        """All tables."""
        parts = [about(self.args.records)]
        workloads = {workload: self._of(workload) for workload in ("w1", "w2", "w3")}
        parts += [tables.throughput(workload, found) for workload, found in workloads.items() if found]
        if found := self._of("latency"):
            parts.append(tables.latencies(found))
        if "first" in self.results and "error" not in self.results["first"]:
            first = self.results["first"]
            parts.append(
                f"First output {first['seconds']} s after the start of `headrace run` "
                f"({first['cpu_s']} CPU s; load {first['load']})."
            )
        for row in ("w1-embedded", "w1-kafka", "latency-embedded", "latency-kafka"):
            if self.results.get(row, {}).get("batches"):
                table = tables.batches(self.results[row]["batches"])
                parts.append(f"Where a batch's time goes, {row}:\n\n{table}")
        for row, result in self.results.items():
            if row.startswith("costs") and "error" not in result:
                parts.append(f"{result['title']}:\n\n{costs.table(result)}")
        return "\n\n".join(parts)

    def _of(self, kind: str) -> dict[str, dict[str, Any]]:
        return {
            row.partition("-")[2]: found for row, found in self.results.items() if row.startswith(f"{kind}-")
        }


def about(records: int) -> str:
    """What the figures were measured on."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    commit = found.stdout.strip() or "no commit"
    return (
        f"{time.strftime('%Y-%m-%d')}, {commit}, {machine.CORES} cores, Python {platform.python_version()}, "
        f"{records:,} records, load now {machine.load()}. Read the ratios: they come from one run."
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000, help="to catch up with (default 1,000,000)")
    parser.add_argument(
        "--seconds", type=float, default=40, help="for which latency is measured (default 40)"
    )
    parser.add_argument(
        "--only", metavar="ROW,…", help=f"of {', '.join(ROWS)}, or a prefix such as w1; or all"
    )
    parser.add_argument("--out", help="append every result to this file, one JSON object a line")
    args = parser.parse_args()
    wanted = args.only.split(",") if args.only else []
    unknown = [name for name in wanted if name != "all" and not any(row.startswith(name) for row in ROWS)]
    if unknown:
        parser.error(f"no row is called {', '.join(unknown)}")
    args.only = [
        row for row in ROWS if any(name == "all" or row.startswith(name) for name in wanted)
    ] or DEFAULT
    signal.signal(signal.SIGTERM, _interrupt)
    bench = Bench(args)
    bench.run()
    print(bench.report())
    return (
        1
        if any("error" in found or found.get("verified") is False for found in bench.results.values())
        else 0
    )


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
