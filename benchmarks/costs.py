"""Where a record's time goes: one W1 batch run in this process, without Spark, and its parts by themselves.

The parts are timed in loops of their own over the same records, so that the clock is not read once a record; what a
phase takes beyond its parts is the loop and the closures between them.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks import machine, workloads
from benchmarks.orders import EmbeddedFiller, orders
from benchmarks.probes import PARTITIONS
from benchmarks.setting import Setting
from headrace.app.topics import internal_topics
from headrace.config import StreamsConfig
from headrace.log.base import TopicPartition
from headrace.serdes import Serdes, serde_for
from headrace.spark import rows as packed
from headrace.spark.commit import CommitRecord, Plan
from headrace.spark.hosted import in_order
from headrace.spark.layout import lay_out
from headrace.spark.planner import Planner
from headrace.spark.publish import Committer
from headrace.spark.reader import read_rows
from headrace.spark.runtime import Runtime
from headrace.spark.ship import Shipment
from headrace.spark.stage import run_slot
from headrace.spark.stopwatch import Stopwatch
from headrace.state.local import Accepted, LocalState, Stamp
from headrace.task.lanes import Rows, sequences

RECORDS = 210_000
Phases = list[tuple[str, float]]


def spent(action: Callable[[], object]) -> float:
    """Seconds of the quickest of three tries."""
    found = []
    for _ in range(3):
        started = time.perf_counter()
        action()
        found.append(time.perf_counter() - started)
    return min(found)


class Alone:
    """An application in this process: what the driver, Spark and the workers do, one after the other."""

    def __init__(self, setting: Setting) -> None:
        self.log = setting.log
        for topic in ("costs-in", "costs-out"):
            self.log.create_topic(topic, PARTITIONS)
        filler = EmbeddedFiller(self.log, "costs-in")
        for block in orders(RECORDS):
            filler.write(block)
        self.topology = workloads.w1("costs-in", "costs-out")
        state = str(setting.folder / "costs")
        config = StreamsConfig(application_id="costs", data_dir=str(setting.data), state_dir=state)
        available = {"costs-in": PARTITIONS, "costs-out": PARTITIONS}
        layout = lay_out(self.topology, "costs", available)
        internal = internal_topics(layout, config)
        for name, (partitions, topic_config) in internal.items():
            self.log.create_topic(name, partitions, topic_config)
        incarnation = uuid.uuid4().hex
        base = CommitRecord(
            incarnation,
            0,
            0,
            {"costs-in": [0] * PARTITIONS},
            ends={name: [0] * partitions for name, (partitions, _) in internal.items()},
        )
        self.runtime = Runtime(
            Shipment(uuid.uuid4().hex, incarnation, self.topology, config, available, machine.CORES)
        )
        self.publisher = self.log.publisher("costs")
        self.committer = Committer(self.publisher, base, layout)
        self.planner = Planner(self.log, layout.topics, {}, config.max_batch_records, config.max_batch_bytes)

    def batch(self) -> tuple[Plan, list[packed.Row], dict[str, float]]:
        """The next batch: its plan, the rows that were shuffled, and the seconds of all phases."""
        seconds: dict[str, float] = {}
        plan = self.planner.plan(self.committer.base)
        assert plan is not None
        made: list[packed.Row] = []
        for part in read_rows(self.runtime, plan, range(PARTITIONS), control=True):
            made += part
        shuffled = [row for row in made if row.stage == 1]
        out = [row for row in made if row.stage != 1]
        for salt in self.runtime.salts:
            for part in run_slot(self.runtime, 1, [row for row in shuffled if row.slot == salt]):
                out += part
        started = time.perf_counter()
        for rows in (shuffled, out):
            arrow = pa.Table.from_batches([packed.to_batch(rows)])
            list(packed.from_batch(arrow))
        seconds["rows"] = time.perf_counter() - started
        watch = Stopwatch()
        batch = self.committer.publish(arrow, watch)
        for report in batch.reports:
            for name, spent in report.seconds.items():
                seconds[name] = seconds.get(name, 0.0) + spent
        return plan, shuffled, seconds | watch.seconds

    def close(self) -> None:
        self.publisher.close()
        self.runtime.close()


def task(setting: Setting) -> dict[str, Any]:
    """The parts of W1, per input record."""
    setting.say(f"one batch of {RECORDS:,} orders in this process")
    load = machine.load()
    alone = Alone(setting)
    try:
        alone.batch()  # the small first one
        plan, shuffled, seconds = alone.batch()
        head = _head_parts(alone, plan)
        stage = _stage_parts(setting.folder / "costs-store", shuffled)
    finally:
        alone.close()
        setting.drop_topics("costs")
    phases: Phases = [
        ("**read** the log", seconds["read"]),
        ("**head**: decode, filter, re-key, encode", seconds["head"]),
        *shown(head, seconds["head"]),
        ("**pack** for the shuffle: hash, divide, Arrow", seconds["read_pack"]),
        ("**rows** into Arrow and out again, as Spark has them", seconds["rows"]),
        ("**unpack** the shuffle", seconds["unpack"]),
        ("**task**: merge, decode, aggregate, store, encode", seconds["process"]),
        *shown(stage, seconds["process"]),
        ("**commit** the local store", seconds["commit"] + seconds["prepare"]),
        ("**pack** outputs and changelogs", seconds["pack"]),
        ("**sort** in the driver", seconds["sort"]),
        ("**publish** to the embedded log", seconds["publish"]),
    ]
    phases.append(("all, in one process", sum(part for name, part in phases if name.startswith("**"))))
    count = sum(sum(ends) - sum(plan.starts[topic]) for topic, ends in plan.ends.items())
    title = "Where a record's time goes (W1, in one process, per input record)"
    return {"title": title, "records": count, "phases": phases, "load": load}


def shown(parts: Phases, whole: float) -> Phases:
    """The parts of a phase, and what is left of it."""
    rest = whole - sum(seconds for _, seconds in parts)
    return [(f"· {name}", seconds) for name, seconds in [*parts, ("loop, closures, the rest", rest)]]


def _head_parts(alone: Alone, plan: Plan) -> Phases:
    ranges = {
        TopicPartition("costs-in", p): (plan.starts["costs-in"][p], plan.ends["costs-in"][p])
        for p in range(PARTITIONS)
    }
    chunks = list(alone.log.read(ranges))
    started = time.perf_counter()
    for chunk in chunks:
        _ = chunk.keys, chunk.values, chunk.timestamps
    lists = time.perf_counter() - started
    keys = [key for chunk in chunks for key in chunk.keys]
    values = [value for chunk in chunks for value in chunk.values]
    read_key, read_value = Serdes.string().deserialize, serde_for(workloads.Order).deserialize
    write_key, write_value = Serdes.string().serialize, serde_for(workloads.Order).serialize
    decoded = [read_value(value) for value in values]
    paid = [order for order in decoded if order.status != "cancelled"]
    is_paid: Callable[[Any, Any], bool] = lambda _, order: order.status != "cancelled"  # noqa: E731
    customer: Callable[[Any, Any], str] = lambda _, order: order.customer  # noqa: E731
    return [
        ("bytes out of Arrow", lists),
        ("decode keys", spent(lambda: [read_key(key) for key in keys])),
        ("decode values", spent(lambda: [read_value(value) for value in values])),
        ("callbacks", spent(lambda: ([is_paid("", o) for o in decoded], [customer("", o) for o in paid]))),
        ("encode keys", spent(lambda: [write_key(order.customer) for order in paid])),
        ("encode values", spent(lambda: [write_value(order) for order in paid])),
    ]


def _stage_parts(folder: Path, shuffled: Sequence[packed.Row]) -> Phases:
    records = [row for row in shuffled if row.kind == "records"]
    tasks = [[row for row in records if row.task == number] for number in range(PARTITIONS)]
    chunks = [in_order(rows) for rows in tasks]
    started = time.perf_counter()
    lanes = [Rows.merged(sequences(some)) for some in chunks]
    merge = time.perf_counter() - started
    keys = [key for lane in lanes for key in lane.keys]
    values = [value for lane in lanes for value in lane.values]
    read_key, write_key = Serdes.string().deserialize, Serdes.string().serialize
    read_value = serde_for(workloads.Order).deserialize
    names, decoded = [read_key(key) for key in keys], [read_value(value) for value in values]
    totals = [workloads.Total(5, 200.5, order.ts) for order in decoded]
    write_total, read_total = serde_for(workloads.Total).serialize, serde_for(workloads.Total).deserialize
    raw = [write_total(total) for total in totals]
    triples = list(zip(names, decoded, totals, strict=True))
    decode_store = spent(lambda: [read_total(one) for one in raw])
    encode_store = spent(lambda: [write_total(total) for total in totals])
    return [
        ("bytes out of Arrow, merge by time", merge),
        ("decode keys", spent(lambda: [read_key(key) for key in keys])),
        ("decode values", spent(lambda: [read_value(value) for value in values])),
        ("callback", spent(lambda: [workloads.add(*triple) for triple in triples])),
        ("decode stored values", decode_store),
        ("encode stored values", encode_store),
        (
            "store: keys, look up, put, changelog",
            _store(folder, names, totals) - decode_store - encode_store,
        ),
        ("encode keys for the sink", spent(lambda: [write_key(name) for name in names])),
        ("encode values for the sink", encode_store),
    ]


def _store(folder: Path, names: Sequence[str], totals: Sequence[workloads.Total]) -> float:
    """Seconds of reading and writing each key in turn, in a store that holds all keys on disk."""
    topology = workloads.w1()
    state = LocalState(folder, [topology.stores["totals"]])
    nothing = Accepted(None, {})
    state.prepare(nothing, lambda *_: iter(()))
    store: Any = state.store("totals", key=Serdes.string(), value=serde_for(workloads.Total))
    encode_key, get, put = store.encode_key, store.get_raw, store.put_raw
    for name, total in zip(names, totals, strict=True):
        put(encode_key(name), total, total.ts)
    stamp = Stamp("costs", 1, "a")
    state.commit(stamp, nothing)
    state.prepare(Accepted(stamp, {}), lambda *_: iter(()))

    def update() -> None:
        for name, total in zip(names, totals, strict=True):
            key = encode_key(name)
            get(key)
            put(key, total, total.ts)

    started = time.perf_counter()
    update()  # once: the second time, nothing would be read from the disk
    seconds = time.perf_counter() - started
    state.close()
    return seconds
