"""Timing a program that has a full topic to catch up with, and checking what it wrote."""

from __future__ import annotations

import json
import time
from typing import Any

from benchmarks import machine
from benchmarks.probes import Probe
from benchmarks.program import Program


def catch_up(
    program: Program,
    probe: Probe,
    *,
    records: int,
    expected: int,
    settle: float = 2.5,
    limit: float = 120,
    commits: bool = True,
    broker: int | None = None,
) -> dict[str, Any]:
    """Watch a started program until all input is committed and the output has not grown for `settle` seconds.

    The end is the last growth seen of what a reader of committed records may read: the moment at which it could have
    the last result. Rate = records / (end - first record handled).
    """
    load_before, busy_before = machine.load(), machine.busy_seconds()
    broker_before = machine.cpu_seconds(broker) if broker else 0.0
    out = com = -1
    out_at = com_at = time.time()
    cpu_at = broker_at = busy_at = 0.0
    series: list[tuple[float, int]] = []
    partial = False
    while True:
        new_com = probe.committed() if commits else records
        new_out = probe.ends(probe.sink)
        now = time.time()
        if new_out != out:
            out, out_at = new_out, now
            cpu_at, busy_at = program.cpu(), machine.busy_seconds()
            broker_at = machine.cpu_seconds(broker) if broker else 0.0
        if new_com != com:
            com, com_at = new_com, now
            series.append((now, com))
        if com >= records and out >= expected and now - out_at > settle:
            break
        if not program.alive():
            raise RuntimeError(f"the program died: {program.tail()}")
        if now - program.started > limit:
            partial = True
            break
        time.sleep(0.03)
    first = program.wait_for("FIRST", timeout=1)
    done = com if partial else records
    cpu, broker_cpu = cpu_at, broker_at - broker_before
    others = busy_at - busy_before - cpu - broker_cpu
    return {
        "records": done,
        "partial": partial,
        "startup_s": round(first - program.started, 2),
        "seconds": round(out_at - first, 2),
        "rate": round(done / (out_at - first)) if out_at > first else 0,
        "warm_rate": None if partial else second_half(series, records, out_at),
        "commit_seconds": round(com_at - first, 2) if commits else None,
        "cpu_s": round(cpu, 1),
        "broker_cpu_s": round(broker_cpu, 1),
        "others_percent": round(max(0.0, 100 * others / (out_at - program.started) / machine.CORES)),
        "rss_mb": round(program.memory()),
        "load": f"{load_before}-{machine.load()}",
    }


def second_half(series: list[tuple[float, int]], records: int, end: float) -> int | None:
    """Records/s from the first commit beyond the middle; None where commits are too few to tell."""
    at, done = next((sample for sample in series if sample[1] >= records / 2), (end, records))
    return round((records - done) / (end - at)) if records - done >= records * 0.2 and end > at else None


def verify(workload: str, probe: Probe) -> dict[str, Any]:
    """What the output accounts for: the last value of every key says how many orders went into it."""
    outputs, last = 0, {}
    for key, value in probe.records():
        outputs += 1
        if workload == "w3":
            window = json.loads(value)
            last[key, window["start"]] = window["n"]
        else:
            last[key] = value
    if workload == "w2":
        return {"outputs": outputs, "accounted": len(last)}
    if workload == "w3":
        return {"outputs": outputs, "accounted": sum(last.values())}
    totals = [json.loads(value) for value in last.values()]
    cents = sum(round(total["total"] * 100) for total in totals)
    return {"outputs": outputs, "accounted": sum(total["n"] for total in totals), "cents": cents}
