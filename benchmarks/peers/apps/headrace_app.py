"""Headrace: workloads w1, w2 and w3 of README.md, as any user would run them."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time

from benchmarks import workloads
from headrace import Streams


def say(line: str) -> None:
    """In one piece: two threads speak."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("workload", "app-id", "input", "output", "state-dir"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--bootstrap", help="Kafka's brokers")
    parser.add_argument("--data-dir", help="instead: the folder of the embedded log")
    args = parser.parse_args()
    topology = getattr(workloads, args.workload)(args.input, args.output)
    where = {"bootstrap_servers": args.bootstrap} if args.bootstrap else {"data_dir": args.data_dir}
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    streams = Streams(topology, application_id=args.app_id, state_dir=args.state_dir, **where)
    free = [time.time()]
    handled = []

    def batch(done) -> None:
        now, planned = time.time(), done.commit.wall_clock / 1000
        if done.records and not handled:
            handled.append(True)
            # The first worker that began to read: before that Spark plans the query, which is start-up.
            say(f"FIRST {int(min(report.began for report in done.reports if report.began) * 1000)}")
        restored = sum(report.restored for report in done.reports)
        if restored:
            say(f"RESTORE {done.commit.wall_clock}")
            say(f"RESTORED {int(now * 1000)} {restored}")
        tasks = [
            {"task": report.task, "began": report.began - planned, "seconds": report.seconds}
            for report in done.reports
        ]
        # The next batch is planned when this one is handed to be published, or has been where it must wait for that.
        until = planned + sum(spent for name, spent in done.seconds.items() if name != "publish")
        seconds = {**done.seconds, "next": planned - free[0]}
        profile = {"records": done.records, "outputs": done.outputs, "seconds": seconds, "tasks": tasks}
        profile["wall"] = until - free[0]
        say(f"BATCH {json.dumps(profile)}")
        free[0] = until

    streams.on_batch(batch)
    with streams:
        streams.wait_until_running()
        say(f"RUNNING {time.time_ns() // 1_000_000}")
        while not stop.is_set() and not streams.state.has_ended:
            stop.wait(0.1)
        streams.wait(0)


if __name__ == "__main__":
    main()
