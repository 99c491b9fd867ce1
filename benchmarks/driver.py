"""`make bench-driver`: the test driver beside a loop written by hand, and beside the Java test driver.

All do the same on the same records, and read their results back every thousand records. `python -m benchmarks.driver
--help`. See README.md.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.markdown import markdown
from benchmarks.orders import orders
from benchmarks.workloads import Order
from headrace import StreamsBuilder, Topology
from headrace.testing import TopologyTestDriver

HERE = Path(__file__).resolve().parent
BLOCK = 1_000
Raw = tuple[bytes, bytes]
Outcome = dict[str, Any]


# the same work, three times ------------------------------------------------------------------------------------------


def taxed(order: Order) -> Order:
    order.amount = order.amount * 1.2
    return order


def topology(workload: str) -> Topology:
    """What is measured; `DriverApp.java` says the same."""
    builder = StreamsBuilder()
    paid = builder.stream("in", value=Order).filter(lambda _, order: order.status != "cancelled")
    if workload == "stateless":
        paid.map_values(taxed, value=Order).to("out", value=Order)
    else:
        grouped = (
            paid.group_by_key() if workload == "count" else paid.group_by(lambda _, order: order.customer)
        )
        grouped.count(store="counts").to_stream().to("out", value=int)
    return builder.build()


def by_hand(workload: str, records: list[Raw]) -> Iterator[tuple[bytes, bytes]]:
    """The loop that somebody writes who needs no library."""
    counts: dict[str, int] = {}
    for raw_key, raw_value in records:
        key, order = raw_key.decode(), json.loads(raw_value)
        if order["status"] == "cancelled":
            continue
        if workload == "stateless":
            order["amount"] = order["amount"] * 1.2
            yield key.encode(), json.dumps(order).encode()
        else:
            key = key if workload == "count" else order["customer"]
            n = counts[key] = counts.get(key, 0) + 1
            yield key.encode(), n.to_bytes(8, "big", signed=True)


# measuring -----------------------------------------------------------------------------------------------------------


def loop(workload: str, records: list[Raw], folder: Path) -> Outcome:
    started = time.perf_counter()
    outputs = sum(1 for _ in by_hand(workload, records))
    return {"outputs": outputs, "seconds": time.perf_counter() - started}


def driver(
    workload: str,
    records: list[Raw],
    folder: Path,
    *,
    disk: bool,
    on_block: Callable[[int], None] | None = None,
) -> Outcome:
    outputs = 0
    state = folder / "state" if disk else None
    with TopologyTestDriver(topology(workload), state_dir=state) as running:
        out = running.output("out")
        pipe = running.pipe_bytes
        half, middle = len(records) // 2, 0.0
        started = time.perf_counter()
        for first in range(0, len(records), BLOCK):
            if first >= half and not middle:
                middle = time.perf_counter()
            for number, (key, value) in enumerate(records[first : first + BLOCK], first):
                pipe("in", key, value, number)
            outputs += len(out.read_records())
            if on_block is not None:
                on_block(first + BLOCK)
        ended = time.perf_counter()
    return {"outputs": outputs, "seconds": ended - started, "warm_seconds": 2 * (ended - middle)}


def in_memory(workload: str, records: list[Raw], folder: Path) -> Outcome:
    return driver(workload, records, folder, disk=False)


def on_disk(workload: str, records: list[Raw], folder: Path) -> Outcome:
    return driver(workload, records, folder, disk=True)


class Java:
    """The Java test driver, with its stores in RocksDB."""

    def __init__(self, records: list[Raw], folder: Path) -> None:
        # Only a run beside Java needs Maven and a compiler.
        from tests.kafka.jars import java, kafka_jars

        compiler = shutil.which("javac")
        if compiler is None:
            raise RuntimeError("there is no `javac` on the PATH, so the Java program cannot be compiled")
        classes, jars = folder / "classes", f"{kafka_jars()}/*"
        source = HERE / "peers" / "apps" / "DriverApp.java"
        subprocess.run([compiler, "-cp", jars, "-d", str(classes), str(source)], check=True)
        self.input = folder / "records.tsv"
        self.input.write_bytes(b"".join(b"%b\t%b\n" % record for record in records))
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        self.command = [java(), "-Xmx2g", quiet, "-cp", f"{classes}:{jars}", "DriverApp"]

    def __call__(self, workload: str, records: list[Raw], folder: Path) -> Outcome:
        state = folder / "java-state"
        command = [*self.command, workload, str(self.input), str(state)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return dict(json.loads(done.stdout.splitlines()[-1]))


# tables --------------------------------------------------------------------------------------------------------------


def compare(records: list[Raw], folder: Path, *, java: bool) -> str:
    """One table: everything in one run, so that the ratios mean something on a noisy machine."""
    kinds: dict[str, Callable[[str, list[Raw], Path], Outcome]] = {
        "loop by hand": loop,
        "driver, stores in memory": in_memory,
        "driver, stores on LMDB": on_disk,
    }
    if java:
        kinds["Java driver, stores on RocksDB"] = Java(records, folder)
    rows = []
    for workload in ("stateless", "count", "rekeyed"):
        found = {}
        for kind, run in kinds.items():
            say(f"{workload}: {kind}")
            best = min(
                (run(workload, records, folder) for _ in range(2)), key=lambda one: float(one["seconds"])
            )
            found[kind] = best
        expected = found["loop by hand"]
        for kind, outcome in found.items():
            if outcome["outputs"] != expected["outputs"]:
                raise RuntimeError(
                    f"{workload}, {kind}: {outcome['outputs']} results, not {expected['outputs']}"
                )
            rate = len(records) / outcome["seconds"]
            of_java = found.get("Java driver, stores on RocksDB")
            rows.append(
                [
                    workload,
                    kind,
                    round(rate),
                    f"{1e6 / rate:.1f}",
                    f"{outcome['seconds'] / expected['seconds']:.1f}",
                    None if of_java is None else f"{of_java['seconds'] / outcome['seconds']:.2f}",
                    _warm(outcome, of_java),
                ]
            )
    columns = ["", "who", "records/s", "µs a record", "× the loop's time", "× Java's rate", "warm"]
    return markdown(columns, rows)


def _warm(outcome: Outcome, of_java: Outcome | None) -> str | None:
    if of_java is None or "warm_seconds" not in outcome:
        return None
    return f"{of_java['warm_seconds'] / outcome['warm_seconds']:.2f}"


def memory(records: list[Raw], folder: Path, total: int) -> str:
    """Resident memory while a million records go through a store on disk."""
    rows: list[tuple[str, int]] = []
    many = [records[number % len(records)] for number in range(total)]
    steps = {total * part // 10 // BLOCK * BLOCK for part in (1, 2, 4, 6, 8, 10)}

    def look(done: int) -> None:
        if done in steps:
            rows.append((f"{done:,}", round(machine.memory_mb(os.getpid()))))

    driver("rekeyed", many, folder, disk=True, on_block=look)
    return markdown(["records so far", "resident MB"], rows)


def profile(records: list[Raw], folder: Path) -> str:
    """Where the time goes, by function. The profiler itself makes small functions look larger."""
    profiler = cProfile.Profile()
    profiler.enable()
    driver("rekeyed", records, folder, disk=True)
    profiler.disable()
    entries = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in entries.values())
    ordered = sorted(entries.items(), key=lambda entry: -entry[1][2])[:16]
    rows = [
        [f"`{_place(file)}{name}`", calls, f"{100 * own / total:.1f} %"]
        for (file, _, name), (_, calls, own, _, _) in ordered
    ]
    return markdown(["function", "calls", "own time"], rows)


def _place(file: str) -> str:
    return f"{file.rpartition('headrace/')[2].removesuffix('.py')}: " if "headrace/" in file else ""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--memory-records", type=int, default=1_000_000)
    parser.add_argument("--no-java", action="store_true", help="leave out what needs Maven and a JDK")
    parser.add_argument("--profile", action="store_true", help="only the profile")
    args = parser.parse_args()
    records = [(one.customer.encode(), one.value) for block in orders(args.records) for one in block]
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
        folder = Path(name)
        if not args.profile:
            print(compare(records, folder, java=not args.no_java), end="\n\n")
            say("memory")
            print(memory(records, folder, args.memory_records), end="\n\n")
        print(profile(records[:50_000], folder))


if __name__ == "__main__":
    main()
