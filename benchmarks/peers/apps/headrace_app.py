"""The Headrace peer: workloads w1, w2 and w3 of README.md, as any user would run them."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import workloads

from headrace import Streams


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bootstrap", "workload", "app-id", "input", "output", "state-dir"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    topology = getattr(workloads, args.workload)(args.input, args.output)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    streams = Streams(
        topology,
        application_id=args.app_id,
        bootstrap_servers=args.bootstrap,
        state_dir=args.state_dir,
    )
    seen = []

    def batch(done) -> None:
        if done.records and not seen:
            # The batch's own time is when its first record was handled, near enough: it was planned then.
            seen.append(True)
            print(f"FIRST {done.commit.wall_clock}", flush=True)

    streams.on_batch(batch)
    with streams:
        streams.wait_until_running()
        print(f"RUNNING {time.time_ns() // 1_000_000}", flush=True)
        while not stop.is_set() and not streams.state.has_ended:
            stop.wait(0.1)
        for name, seconds in sorted(streams.metrics.seconds.items()):
            print(f"SPENT batch {name} {seconds:.2f}")
        for name, seconds in sorted(streams.metrics.task_seconds.items()):
            print(f"SPENT task {name} {seconds:.2f}")


if __name__ == "__main__":
    main()
