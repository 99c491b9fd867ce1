"""Does a commit cost more when there is more state? `python -m benchmarks.commits [--keys 10000,1000000,5000000]`.

W1 on Spark with the embedded log, a batch of 1,000 orders of as many customers at a time, over a state of so many
customers that was restored at the start. `commit` is what a batch does to make its changes last: the local commits of
its tasks, sorting what was collected, and the transaction of the log; `batch` is all of it,
from the plan to the commit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import machine, restore, tables, workloads
from benchmarks.setting import Setting
from headrace.app import Streams
from headrace.app.topics import prepare_topics
from headrace.config import StreamsConfig
from headrace.log import log_config, open_log
from headrace.log.base import Outgoing
from headrace.spark.publish import Batch

KEYS = (10_000, 1_000_000, 5_000_000)
CHANGES = 1_000
BATCHES = 60
WARM = 15


def measure(setting: Setting, keys: int, batches: int = BATCHES) -> dict[str, Any]:
    """One size of state: medians over batches of 1,000 changes, in milliseconds."""
    name = f"commits-{keys}"
    topology = workloads.w1(f"{name}-in", f"{name}-out")
    config = StreamsConfig(application_id=name, data_dir=str(setting.folder / name))
    log = open_log(log_config(config))
    setting.say(f"{name}: writing the changelog")
    topics = dict(prepare_topics(log, topology, config))
    restore.write_changelog(log, topology, config, topics, keys)
    seen: list[Batch] = []
    came = threading.Condition()

    def committed(batch: Batch) -> None:
        with came:
            seen.append(batch)
            came.notify_all()

    streams = Streams(topology, config)
    streams.on_batch(committed)
    random = Random(1)
    load = machine.load()
    try:
        streams.start()
        setting.say(f"{name}: {batches} batches of {CHANGES:,} changes")
        for number in range(batches):
            log.append([_orders(f"{name}-in", random, keys)])
            with came:
                done = came.wait_for(
                    lambda wanted=(number + 1) * CHANGES: sum(b.records for b in seen) >= wanted, 300
                )
            assert done, "a batch did not come"
        restored, seconds = streams.metrics.restored, streams.metrics.restore_seconds
    finally:
        streams.close()
        log.close()
    measured = [batch for batch in seen if batch.records == CHANGES][WARM:]
    commits = [_local(batch) + batch.seconds["sort"] + batch.seconds["publish"] for batch in measured]
    wholes = [sum(batch.seconds.values()) for batch in measured]
    locals_ = [_local(batch) for batch in measured]
    return {
        "keys": keys,
        "batches": len(measured),
        "restored": restored,
        "restore_s": round(seconds, 2),
        "local_ms": round(1000 * statistics.median(locals_), 2),
        "commit_ms": round(1000 * statistics.median(commits), 1),
        "batch_ms": round(1000 * statistics.median(wholes), 1),
        "load": load,
    }


def _local(batch: Batch) -> float:
    """Local commits: one after the other in a small batch, side by side on the cores in one that is divided."""
    spent = [report.seconds.get("commit", 0.0) for report in batch.reports]
    return sum(spent) / (min(machine.CORES, len(spent) or 1) if batch.divided else 1)


def _orders(topic: str, random: Random, keys: int) -> Outgoing:
    customers = random.sample(range(keys), CHANGES)
    values = [
        b'{"order_id":"o%d","customer":"customer-%d","amount":12.5,"status":"paid","ts":%d}'
        % (n, n, 1_700_000_000_000 + n)
        for n in customers
    ]
    return Outgoing(topic, [b"o%d" % n for n in customers], values, [1_700_000_000_000] * CHANGES)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commits", description=__doc__)
    parser.add_argument("--keys", default=",".join(map(str, KEYS)), help="sizes of state, with commas")
    parser.add_argument("--batches", type=int, default=BATCHES)
    parser.add_argument("--out", help="append every result to this file, one JSON object a line")
    args = parser.parse_args()
    folder = Path(__file__).resolve().parent.parent / "build" / f"commits-{os.getpid()}"
    setting = Setting(folder, lambda text: print(text, file=sys.stderr, flush=True))
    results = []
    try:
        for keys in map(int, args.keys.split(",")):
            results.append(measure(setting, keys, args.batches))
            print(results[-1], file=sys.stderr, flush=True)
            if args.out:
                with Path(args.out).open("a") as out:
                    out.write(json.dumps(results[-1]) + "\n")
    finally:
        setting.close()
    print(tables.commits(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
