"""The measured rows: who is run on what, and how."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks import latency, machine
from benchmarks.catching_up import catch_up, verify
from benchmarks.orders import EmbeddedFiller, KafkaFiller, create_topics, orders
from benchmarks.probes import PARTITIONS, EmbeddedProbe, KafkaProbe, MarkedProbe, Probe
from benchmarks.program import Program
from benchmarks.setting import BY_CUSTOMER, HERE, LONG_ORDERS, ORDERS, Setting

Result = dict[str, Any]

HEADRACE = [sys.executable, "-m", "benchmarks.peers.apps.headrace_app"]
SPARK = [sys.executable, "-m", "benchmarks.spark_app"]
JAVA_OPTIONS = ["--guarantee", "eos", "--cache", "off"]
FIRST_INPUT = 1_000
FEW = 20_000
"""Records for what is slow."""
SLOWEST = 20_000
"""Records/s below which a row is broken off, if it has many."""
ARCHIVE = 60.0
"""Seconds that a JVM gets to write an archive of its classes when it ends."""
IDLE = 30.0
"""Seconds for which a program that has nothing to do is watched."""


def source_of(workload: str, kind: str = "") -> str:
    """The topic that a workload reads; the long rows on Kafka have one of their own."""
    if workload == "w3":
        return BY_CUSTOMER
    return LONG_ORDERS if workload == "w1" and kind in ("kafka", "java") else ORDERS


def _arguments(workload: str, run: str, source: str, sink: str) -> list[str]:
    return [
        *("--workload", workload, "--app-id", run, "--input", source, "--output", sink),
        *("--state-dir", "{state}"),
    ]


def embedded(setting: Setting, workload: str, records: int) -> Result:
    """Headrace on the embedded log."""
    run = f"embedded-{workload}"
    source, sink = source_of(workload), f"{run}-out"
    setting.log.create_topic(sink, PARTITIONS)
    command = [*HEADRACE, "--data-dir", str(setting.data), *_arguments(workload, run, source, sink)]
    probe = EmbeddedProbe(setting.log, run, source, sink)
    return _catch_up(setting, workload, run, command, probe, records)


def native(setting: Setting, workload: str, records: int) -> Result:
    """Spark's own aggregation on the embedded log."""
    return _spark(setting, workload, workload, source_of(workload), records)


def per_key(setting: Setting, workload: str, records: int) -> Result:
    """Spark's per-key state in Python on the embedded log: few records, since it is slow."""
    try:
        importlib.import_module("google.protobuf")
    except ImportError as error:
        raise RuntimeError("`transformWithState` needs protobuf: `pip install protobuf`") from error
    topic = f"few-{workload}"
    setting.fill(embedded={topic: FEW}, kafka={})
    return _spark(setting, workload, f"{workload}-per-key", topic, FEW)


def _spark(setting: Setting, workload: str, query: str, source: str, records: int) -> Result:
    run = f"spark-{query}"
    sink, mark = f"{run}-out", setting.folder / f"{run}-mark"
    setting.log.create_topic(sink, PARTITIONS)
    command = [*SPARK, "--query", query, "--log", str(setting.data / "log")]
    command += ["--input", source, "--output", sink, "--state-dir", "{state}", "--mark", str(mark)]
    probe = MarkedProbe(setting.log, mark, source, sink)
    return _catch_up(setting, workload, run, command, probe, records, every_update=False)


def kafka(setting: Setting, workload: str, records: int) -> Result:
    """Headrace on Kafka, exactly once."""
    return _on_kafka(setting, workload, f"headrace-{workload}", HEADRACE, records)


def java(setting: Setting, workload: str, records: int) -> Result:
    """Java Kafka Streams."""
    return _on_kafka(setting, workload, f"java-{workload}", [*setting.java_streams, *JAVA_OPTIONS], records)


def _on_kafka(setting: Setting, workload: str, run: str, command: list[str], records: int) -> Result:
    source, sink = source_of(workload, "kafka"), f"{run}-out"
    create_topics(setting.bootstrap, [sink])
    arguments = ["--bootstrap", setting.bootstrap, *_arguments(workload, run, source, sink)]
    probe = KafkaProbe(setting.bootstrap, run, source, sink)
    command = [*command, *arguments]
    return _catch_up(setting, workload, run, command, probe, records, broker=setting.broker.pid)


def _catch_up(
    setting: Setting,
    workload: str,
    run: str,
    command: list[str],
    probe: Probe,
    records: int,
    *,
    every_update: bool = True,
    broker: int | None = None,
) -> Result:
    program = Program(command, setting.folder / "runs" / run)
    expected = setting.expected[records]
    wanted = expected.records if workload == "w3" else expected.paid
    try:
        program.start()
        result = catch_up(
            program,
            probe,
            records=records,
            expected=wanted if every_update else 1,
            limit=150 + records / SLOWEST,
            broker=broker,
        )
        batches = [json.loads(line) for line in program.lines("BATCH")]
        result["checkpoint_bytes"] = round(program.checkpoint_bytes() / records, 2)
        program.stop()
        result |= verify(workload, probe)
        right = result["accounted"] == wanted and result.get("cents", expected.cents) == expected.cents
        return result | {"verified": right, "batches": batches}
    finally:
        program.stop()
        program.wipe()
        setting.drop_topics(run)


# --- latency --------------------------------------------------------------------------------------------------------


def latency_embedded(setting: Setting, seconds: float) -> Result:
    """Headrace on the embedded log."""
    run = "latency-embedded"
    source, sink = f"{run}-in", f"{run}-out"
    for topic in (source, sink):
        setting.log.create_topic(topic, PARTITIONS)
    EmbeddedFiller(setting.log, source).write(next(orders(200)))
    command = [*HEADRACE, "--data-dir", str(setting.data), *_arguments("w1", run, source, sink)]
    options = ["--log", str(setting.data / "log"), "--topic", source]
    probe = EmbeddedProbe(setting.log, run, source, sink)
    reader = latency.embedded_reader(setting.log, sink)
    return _latency(setting, run, command, options, probe, reader, seconds)


def latency_kafka(setting: Setting, seconds: float) -> Result:
    """Headrace on Kafka, exactly once."""
    return _latency_on_kafka(setting, "latency-headrace", HEADRACE, seconds)


def latency_java(setting: Setting, seconds: float) -> Result:
    """Java Kafka Streams."""
    return _latency_on_kafka(setting, "latency-java", [*setting.java_streams, *JAVA_OPTIONS], seconds)


def _latency_on_kafka(setting: Setting, run: str, command: list[str], seconds: float) -> Result:
    source, sink = f"{run}-in", f"{run}-out"
    create_topics(setting.bootstrap, [source, sink])
    filler = KafkaFiller(setting.bootstrap, source)
    filler.write(next(orders(200)))
    filler.finish()
    command = [*command, "--bootstrap", setting.bootstrap, *_arguments("w1", run, source, sink)]
    options = ["--bootstrap", setting.bootstrap, "--topic", source]
    probe = KafkaProbe(setting.bootstrap, run, source, sink)
    reader = latency.kafka_reader(setting.bootstrap, sink)
    return _latency(setting, run, command, options, probe, reader, seconds, setting.broker.pid)


def _latency(
    setting: Setting,
    run: str,
    command: list[str],
    options: list[str],
    probe: Probe,
    reader: tuple[latency.Poll, Callable[[], None]],
    seconds: float,
    broker: int | None = None,
) -> Result:
    program = Program(command, setting.folder / "runs" / run)
    try:
        program.start()
        program.wait_for("FIRST")
        while probe.ends(probe.sink) < 180 and time.time() - program.started < 60:
            time.sleep(0.2)
        time.sleep(3)
        result = latency.measure(program, options, *reader, seconds=seconds)
        result |= latency.idle(program, IDLE, broker)
        return result | {"batches": [json.loads(line) for line in program.lines("BATCH")]}
    finally:
        program.stop()
        program.wipe()
        setting.drop_topics(run)


# --- in programs of their own ---------------------------------------------------------------------------------------


def restore_java(setting: Setting) -> Result:
    """Java Kafka Streams rebuilds the same store; it needs a broker and a filled changelog of its own."""
    out = setting.folder / "restore-java.jsonl"
    _run("benchmarks.peers.run", "ks-eos", "--workloads", "w5", "--out", str(out))
    found = json.loads(out.read_text().splitlines()[-1])
    if "error" in found:
        raise RuntimeError(found["error"])
    return {
        "keys": found["restored"],
        "seconds": found["restore_s"],
        "keys_per_s": found["restore_rate"],
        "waiting_for_the_log": None,
        "load": found["restore_load"],
    }


def commits(setting: Setting) -> Result:
    """What a commit costs over states of different size."""
    out = setting.folder / "commits.jsonl"
    _run("benchmarks.commits", "--out", str(out))
    return {"sizes": [json.loads(line) for line in out.read_text().splitlines()]}


def _run(module: str, *options: str) -> None:
    command = [sys.executable, "-m", module, *options]
    subprocess.run(command, check=True, timeout=900, stdout=subprocess.DEVNULL, cwd=HERE.parent)


# --- the first output -----------------------------------------------------------------------------------------------


def first(setting: Setting) -> Result:
    """From the start of `headrace run` to the first output that a reader sees, on the embedded log: as on a machine
    that has never run it, and with the archive of classes that the second run leaves there.
    """
    env = {"XDG_CACHE_HOME": str(setting.folder / "cache"), "HEADRACE_JAVA_ARCHIVE": "on"}
    load = machine.load()
    cold, _, warm = (_first(setting, f"first-{number}", env) for number in range(3))
    return {
        **cold,
        "archive_seconds": warm["seconds"],
        "archive_cpu_s": warm["cpu_s"],
        "load": f"{load}-{machine.load()}",
    }


def _first(setting: Setting, run: str, env: Mapping[str, str]) -> Result:
    for topic in ("first-in", "first-out"):
        setting.log.create_topic(topic, PARTITIONS)
    EmbeddedFiller(setting.log, "first-in").write(next(orders(FIRST_INPUT)))
    command = [sys.executable, "-m", "headrace.cli.main", "run", str(HERE / "first_app.py")]
    command += ["--application-id", run, "--data-dir", str(setting.data), "--state-dir", "{state}"]
    program = Program(command, setting.folder / "runs" / run, env=env)
    probe = EmbeddedProbe(setting.log, run, "first-in", "first-out")
    try:
        program.start()
        while not probe.ends("first-out"):
            if not program.alive() or time.time() - program.started > 120:
                raise RuntimeError(f"no output: {program.tail()}")
            time.sleep(0.01)
        return {"seconds": round(time.time() - program.started, 2), "cpu_s": round(program.cpu(), 1)}
    finally:
        program.stop(patience=ARCHIVE)
        program.wipe()
        setting.drop_topics("first")
