"""`make bench`: how fast Headrace is, beside Spark's own means and Java Kafka Streams. See README.md."""

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

from benchmarks import costs, kafka_costs, machine, restore, rows, tables
from benchmarks.setting import Setting

ROOT = Path(__file__).resolve().parent.parent
CATCH_UP = {
    "embedded": rows.embedded,
    "native": rows.native,
    "perkey": rows.per_key,
    "kafka": rows.kafka,
    "java": rows.java,
}
OTHERS: dict[str, Callable[[Setting], dict[str, Any]]] = {
    "first": rows.first,
    "restore-embedded": restore.embedded,
    "restore-kafka": restore.kafka,
    "restore-java": rows.restore_java,
    "commits": rows.commits,
    "costs-task": costs.task,
    "costs-publish": kafka_costs.publish,
}
LATENCY = {
    "embedded": rows.latency_embedded,
    "kafka": rows.latency_kafka,
    "java": rows.latency_java,
}
ROWS = [
    "first",
    *("w1-embedded", "w1-native", "w1-perkey", "w1-kafka", "w1-java"),
    *("w2-embedded", "w2-kafka", "w2-java"),
    *("w3-embedded", "w3-native", "w3-kafka", "w3-java"),
    *("latency-embedded", "latency-kafka", "latency-java"),
    *("restore-embedded", "restore-kafka", "restore-java"),
    "commits",
    *("costs-task", "costs-publish"),
]
LONG = ("w1-kafka", "w1-java")
"""Java's compiler needs a while, so these two, which are compared, read more."""


class Bench:
    """One run: rows in order, each in processes of its own, each kept even when another one fails."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.started = time.time()
        self.results: dict[str, dict[str, Any]] = {}
        self.out = Path(args.out or ROOT / "build" / f"benchmark-{time.strftime('%Y%m%d-%H%M%S')}.jsonl")
        self.out.parent.mkdir(exist_ok=True)
        self.setting = Setting(ROOT / "build" / f"benchmark-{os.getpid()}", self.say)

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
            self.say(f"all results are in {self.out}")

    def records(self, row: str) -> int:
        """How many records a row catches up with."""
        return int(self.args.long_records if row in LONG else self.args.records)

    def _fill(self) -> None:
        places: dict[str, dict[str, int]] = {"embedded": {}, "kafka": {}}
        kinds = {"embedded": "embedded", "native": "embedded", "kafka": "kafka", "java": "kafka"}
        for row in self.args.only:
            workload, _, kind = row.partition("-")
            if workload in ("w1", "w2", "w3") and kind in kinds:
                topic, found = rows.source_of(workload, kind), places[kinds[kind]]
                found[topic] = max(found.get(topic, 0), self.records(row))
        self.setting.fill(**places)

    def _row(self, row: str) -> None:
        kind, _, name = row.partition("-")
        action: Callable[[], dict[str, Any]]
        if row in OTHERS:
            action = lambda: OTHERS[row](self.setting)  # noqa: E731
        elif kind == "latency":
            action = lambda: LATENCY[name](self.setting, self.args.seconds)  # noqa: E731
        else:
            action = lambda: CATCH_UP[name](self.setting, kind, self.records(row))  # noqa: E731
        self.say(f"{row} …")
        load, began = machine.load(), time.time()
        try:
            result = action()
        except Exception as error:
            traceback.print_exc()
            result = {"error": " ".join(f"{type(error).__name__}: {error}".split())}
        result = {"load": load, **result, "took_s": round(time.time() - began)}
        self.results[row] = result
        brief = {name: value for name, value in result.items() if name not in ("batches", "phases")}
        self.say(f"{row}: {json.dumps(brief)}")
        with self.out.open("a") as out:
            out.write(json.dumps({"row": row, "at": round(time.time()), **result}) + "\n")

    def report(self) -> str:
        """All tables."""
        return f"{about()}\n\n{tables.report(self.results)}"


def about() -> str:
    """What the figures were measured on."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    commit = found.stdout.strip() or "no commit"
    return (
        f"{time.strftime('%Y-%m-%d')}, {commit}, {machine.CORES} cores, Python {platform.python_version()}, "
        f"load now {machine.load()}. Read the ratios: they come from one run."
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000, help="to catch up with (default 1,000,000)")
    parser.add_argument(
        "--long-records", type=int, help=f"of {' and '.join(LONG)} (default 5,000,000, or --records if given)"
    )
    parser.add_argument(
        "--seconds", type=float, default=40, help="for which latency is measured (default 40)"
    )
    parser.add_argument(
        "--only", metavar="ROW,…", help=f"of {', '.join(ROWS)}, or a prefix such as w1 (default: all)"
    )
    parser.add_argument("--out", help="append every result to this file, one JSON object a line")
    parser.add_argument("--tables", metavar="FILE", help="run nothing: print the tables of such a file")
    args = parser.parse_args()
    if args.tables:
        kept = [json.loads(line) for line in Path(args.tables).read_text().splitlines()]
        print(tables.report({result["row"]: result for result in kept}))
        return 0
    wanted = args.only.split(",") if args.only else [""]
    unknown = [name for name in wanted if not any(row.startswith(name) for row in ROWS)]
    if unknown:
        parser.error(f"no row is called {', '.join(unknown)}")
    args.only = [row for row in ROWS if any(row.startswith(name) for name in wanted)]
    if args.long_records is None:
        args.long_records = (
            5 * args.records if args.records == parser.get_default("records") else args.records
        )
    signal.signal(signal.SIGTERM, _interrupt)
    # A JVM that writes an archive of its classes when it ends would be in the way of the next row.
    os.environ["HEADRACE_JAVA_ARCHIVE"] = "off"
    bench = Bench(args)
    bench.run()
    print(bench.report())
    failed = any("error" in found or found.get("verified") is False for found in bench.results.values())
    return 1 if failed else 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
