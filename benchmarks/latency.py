"""From an append to the result that a reader of committed records sees, at a steady rate."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks import machine, probes
from benchmarks.program import ROOT, Program
from headrace.log import TopicLog
from headrace.log.base import TopicPartition

WARM = 10.0
RATE = 500.0

Poll = Callable[[], Sequence[bytes]]
"""The values that have become visible since the last call; waits a little when there are none."""


def kafka_reader(bootstrap: str, sink: str) -> tuple[Poll, Callable[[], None]]:
    """Reads a topic on Kafka with a read_committed consumer."""
    consumer = probes.reader(bootstrap, sink)

    def poll() -> list[bytes]:
        message = consumer.poll(0.5)
        return [] if message is None or message.error() else [message.value()]

    return poll, consumer.close


def embedded_reader(log: TopicLog, sink: str) -> tuple[Poll, Callable[[], None]]:
    """Looks at the embedded log every two milliseconds."""
    places = [TopicPartition(sink, p) for p in range(probes.PARTITIONS)]
    seen = dict.fromkeys(places, 0)

    def poll() -> list[bytes]:
        ends = log.latest(places)
        new = {place: (seen[place], end) for place, end in ends.items() if end > seen[place]}
        if not new:
            time.sleep(0.002)
            return []
        found = [value for chunk in log.read(new) for value in chunk.values]
        seen.update(ends)
        return found  # type: ignore[return-value]

    return poll, lambda: None


def measure(
    program: Program, source: Sequence[str], poll: Poll, close: Callable[[], None], *, seconds: float
) -> dict[str, Any]:
    """Drive a started program (`source` are the generator's options); milliseconds, without the warm-up."""
    load_before = machine.load()
    start = time.time()
    command = [sys.executable, "-m", "benchmarks.orders", *source]
    command += ["--rate", str(RATE), "--seconds", str(WARM + seconds)]
    generator = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=program.env)
    delays: list[float] = []
    got, expected = 0, int(RATE * (WARM + seconds) * 0.9)
    cpu_before, cpu_from, quiet = 0.0, start, start
    try:
        while got < expected and time.time() - quiet < 30:
            values = poll()
            now = time.time()
            for value in values:
                ts = json.loads(value)["ts"]
                if ts < int(start * 1000):
                    continue  # from before the generator
                quiet = now
                got += 1
                if ts >= (start + WARM) * 1000:
                    if not delays:
                        cpu_before, cpu_from = program.cpu(), now
                    delays.append(now * 1000 - ts)
        cpu = (program.cpu() - cpu_before) / max(time.time() - cpu_from, 1e-9)
        lateness = generator.communicate(timeout=60)[1].strip()
    finally:
        close()
        generator.kill()
        generator.wait()
    if len(delays) < 100:
        raise RuntimeError(f"only {got} outputs seen: {program.tail()}")
    cut = statistics.quantiles(delays, n=100)
    return {
        "samples": len(delays),
        "missing": expected - got,
        "p50_ms": round(cut[49]),
        "p95_ms": round(cut[94]),
        "p99_ms": round(cut[98]),
        "max_ms": round(max(delays)),
        "cpu_percent": round(cpu * 100),
        "rss_mb": round(program.memory()),
        "generator": lateness,
        "load": f"{load_before}-{machine.load()}",
    }


def idle(program: Program, seconds: float, broker: int | None = None) -> dict[str, Any]:
    """What a program and a broker use while nothing comes: percent of one core, over all processes of the program.

    Spark ends processes that it has no more use for, and what they had used is then no longer seen: so only those that
    live to the end count.
    """
    time.sleep(3)
    before, start = _used(program, broker), time.time()
    time.sleep(seconds)
    after = _used(program, broker)
    took = time.time() - start

    def percent(pids: Iterable[int]) -> float:
        return round(100 * sum(after[pid] - before[pid] for pid in pids) / took, 1)

    shared = after.keys() & before.keys()
    result = {"idle_percent": percent(shared - {broker})}
    return result if broker is None else result | {"broker_idle_percent": percent(shared & {broker})}


def _used(program: Program, broker: int | None) -> dict[int, float]:
    used = program.own_cpu()
    return used if broker is None else used | {broker: machine.cpu_seconds(broker)}
