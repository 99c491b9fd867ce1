"""How fast lost stores come back: `python -m benchmarks.restore [--keys 1000000] [--kafka]`.

The changelog of W1's store is written as an application would have left it, each key once, in the order of chance. What
`headrace drill restore` does then rebuilds the store in as many processes as there are cores. The time is that from
the first task's begin to the last one's end, without the start of the processes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import uuid
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import machine, workloads
from benchmarks.probes import PARTITIONS
from benchmarks.setting import Setting
from benchmarks.tables import restores
from headrace.app.beginning import base_commit
from headrace.app.topics import prepare_topics
from headrace.config import StreamsConfig
from headrace.log import log_config, open_log
from headrace.log.arrow import ArrowOutgoing, to_batch
from headrace.log.base import Publication, TopicLog, TopicPartition
from headrace.partitioning import partitions_for
from headrace.restore.drill import drill
from headrace.restore.recorded import recorded
from headrace.spark.commit import CommitRecord, TaskCommit, encode
from headrace.spark.layout import Layout, lay_out
from headrace.spark.ship import Shipment
from headrace.topology.topology import Topology

KEYS = 1_000_000
PORTION = 100_000
TIMES = 3


def embedded(setting: Setting, keys: int = KEYS) -> dict[str, Any]:
    """From the embedded log."""
    return _measure(setting, StreamsConfig(application_id="restore", data_dir=str(setting.data)), keys)


def kafka(setting: Setting, keys: int = KEYS) -> dict[str, Any]:
    """From Kafka."""
    config = StreamsConfig(
        application_id="restore",
        data_dir=str(setting.folder / "restore"),
        bootstrap_servers=setting.bootstrap,
        create_topics=True,
    )
    return _measure(setting, config, keys)


def _measure(setting: Setting, config: StreamsConfig, keys: int) -> dict[str, Any]:
    topology = workloads.w1("restore-in", "restore-out")
    log = open_log(log_config(config))
    try:
        setting.say(f"writing a changelog of {keys:,} keys")
        topics = dict(prepare_topics(log, topology, config))
        write_changelog(log, topology, config, topics, keys)
        known = recorded(topology, config, log)
    finally:
        log.close()
    shipment = Shipment(uuid.uuid4().hex, known.base.incarnation, topology, config, topics, 1).pack()
    found = []
    for _ in range(TIMES):
        folder = Path(tempfile.mkdtemp(dir=setting.folder))
        load, busy = machine.load(), machine.busy_seconds()
        done = drill(known, shipment, folder)
        shutil.rmtree(folder)
        assert done.keys == keys, f"{done.keys:,} keys came back, not {keys:,}"
        found.append((done, load, machine.busy_seconds() - busy))
    best, load, _ = min(found, key=lambda one: one[0].seconds)
    spent = sum(task.ended - task.began for task in best.tasks)
    return {
        "keys": best.keys,
        "bytes": best.bytes,
        "seconds": round(best.seconds, 2),
        "keys_per_s": round(best.keys / best.seconds),
        "waiting_for_the_log": round(sum(task.waiting for task in best.tasks) / spent, 2),
        "processes": best.processes,
        "all_seconds": [round(done.seconds, 2) for done, _, _ in found],
        "load": load,
    }


def write_changelog(
    log: TopicLog, topology: Topology, config: StreamsConfig, topics: dict[str, int], keys: int
) -> None:
    """Customers with their totals, as many commits of an application would have left them."""
    layout = lay_out(topology, config.application_id, topics)
    publisher = log.publisher(config.application_id)
    try:
        base = base_commit(log, topology, layout, publisher.last_commit(), config)
        numbers = list(range(keys))
        Random(1).shuffle(numbers)
        for at in range(0, keys, PORTION):
            base = _publish(publisher, layout, base, numbers[at : at + PORTION])
    finally:
        publisher.close()


def _publish(publisher: Any, layout: Layout, base: CommitRecord, numbers: list[int]) -> CommitRecord:
    names = [b"customer-%d" % number for number in numbers]
    places = partitions_for(names, PARTITIONS).tolist()
    changes = []
    for partition in range(PARTITIONS):
        mine = [
            (n, name) for n, name, place in zip(numbers, names, places, strict=True) if place == partition
        ]
        values = [b'{"n":%d,"total":%d.25,"ts":%d}' % (n % 90 + 1, n, 1_700_000_000_000 + n) for n, _ in mine]
        batch = to_batch([name for _, name in mine], values, [1_700_000_000_000 + n for n, _ in mine])
        changes.append(ArrowOutgoing(layout.changelog("totals"), batch, partition))
    made: list[CommitRecord] = []

    def commit(ends: Any) -> bytes:
        after = {topic: list(known) for topic, known in base.ends.items()}
        for (topic, partition), end in ends.items():
            after[topic][partition] = end
        number = base.number + 1
        sub = next(p.sub.id for p in layout.placements if p.sub.stores)
        tasks = {f"{sub}_{n}": TaskCommit(number, f"{number}") for n in range(PARTITIONS)}
        made[:] = [CommitRecord(base.incarnation, number, 0, base.positions, tasks, after)]
        return encode(made[0])

    positions = {
        TopicPartition(topic, partition): offset
        for topic, offsets in base.positions.items()
        for partition, offset in enumerate(offsets)
    }
    publisher.publish(Publication([], changes, positions, commit))
    return made[0]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.restore", description=__doc__)
    parser.add_argument("--keys", type=int, default=KEYS)
    parser.add_argument("--kafka", action="store_true", help="from a broker, too, which is started for it")
    args = parser.parse_args()
    folder = Path(__file__).resolve().parent.parent / "build" / f"restore-{os.getpid()}"
    setting = Setting(folder, lambda text: print(text, file=sys.stderr, flush=True))
    try:
        results = {"the embedded log": embedded(setting, args.keys)}
        if args.kafka:
            results["Kafka"] = kafka(setting, args.keys)
    finally:
        setting.close()
    for name, found in results.items():
        print(f"{name}: {found}", file=sys.stderr)
    print(restores(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
