"""The measured rows: who is run on what, and how."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import latency, machine
from benchmarks.catching_up import catch_up, verify
from benchmarks.orders import EmbeddedFiller, KafkaFiller, create_topics, orders
from benchmarks.probes import PARTITIONS, EmbeddedProbe, KafkaProbe, MarkedProbe, Probe
from benchmarks.program import Program
from benchmarks.setting import BY_CUSTOMER, HERE, ORDERS, Setting

Result = dict[str, Any]

HEADRACE = [sys.executable, "-m", "benchmarks.peers.apps.headrace_app"]
SPARK = [sys.executable, "-m", "benchmarks.spark_app"]
JAVA_OPTIONS = ["--guarantee", "eos", "--cache", "off"]
FIRST_INPUT = 1_000


def source_of(workload: str) -> str:
    return BY_CUSTOMER if workload == "w3" else ORDERS


def _arguments(workload: str, run: str, source: str, sink: str) -> list[str]:
    return [
        *("--workload", workload, "--app-id", run, "--input", source, "--output", sink),
        *("--state-dir", "{state}"),
    ]


def _finish(setting: Setting, workload: str, program: Program, probe: Probe, result: Result) -> Result:
    """Stop the program and look at all that it wrote."""
    batches = [json.loads(line) for line in program.lines("BATCH")]
    program.stop()
    result |= verify(workload, probe)
    expected = setting.expected
    wanted = expected.records if workload == "w3" else expected.paid
    result["verified"] = (
        result["accounted"] == wanted and result.get("cents", expected.cents) == expected.cents
    )
    return result | {"batches": batches}


def embedded(setting: Setting, workload: str) -> Result:
    """Headrace on the embedded log."""
    run = f"embedded-{workload}"
    source, sink = source_of(workload), f"{run}-out"
    setting.log.create_topic(sink, PARTITIONS)
    command = [*HEADRACE, "--data-dir", str(setting.data), *_arguments(workload, run, source, sink)]
    probe = EmbeddedProbe(setting.log, run, source, sink)
    return _catch_up(setting, workload, run, command, probe)


def native(setting: Setting, workload: str) -> Result:
    """Spark's own aggregation on the embedded log."""
    run = f"native-{workload}"
    sink, mark = f"{run}-out", setting.folder / f"{run}-mark"
    setting.log.create_topic(sink, PARTITIONS)
    command = [*SPARK, "--log", str(setting.data / "log"), "--input", ORDERS, "--output", sink]
    command += ["--state-dir", "{state}", "--mark", str(mark)]
    probe = MarkedProbe(setting.log, mark, ORDERS, sink)
    return _catch_up(setting, workload, run, command, probe, every_update=False)


def kafka(setting: Setting, workload: str) -> Result:
    """Headrace on Kafka, exactly once."""
    return _on_kafka(setting, workload, f"headrace-{workload}", HEADRACE)


def java(setting: Setting, workload: str) -> Result:
    """Java Kafka Streams."""
    return _on_kafka(setting, workload, f"java-{workload}", [*setting.java_streams, *JAVA_OPTIONS])


def _on_kafka(setting: Setting, workload: str, run: str, command: list[str]) -> Result:
    source, sink = source_of(workload), f"{run}-out"
    create_topics(setting.bootstrap, [sink])
    arguments = ["--bootstrap", setting.bootstrap, *_arguments(workload, run, source, sink)]
    probe = KafkaProbe(setting.bootstrap, run, source, sink)
    return _catch_up(setting, workload, run, [*command, *arguments], probe, broker=setting.broker.pid)


def _catch_up(
    setting: Setting,
    workload: str,
    run: str,
    command: list[str],
    probe: Probe,
    *,
    every_update: bool = True,
    broker: int | None = None,
) -> Result:
    program = Program(command, setting.folder / "runs" / run)
    expected = setting.expected.records if workload == "w3" else setting.expected.paid
    try:
        program.start()
        result = catch_up(
            program,
            probe,
            records=setting.expected.records,
            expected=expected if every_update else 1,
            broker=broker,
        )
        return _finish(setting, workload, program, probe, result)
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
    return _latency(setting, run, command, options, probe, reader, seconds)


def _latency(
    setting: Setting,
    run: str,
    command: list[str],
    options: list[str],
    probe: Probe,
    reader: tuple[latency.Poll, Callable[[], None]],
    seconds: float,
) -> Result:
    program = Program(command, setting.folder / "runs" / run)
    try:
        program.start()
        program.wait_for("FIRST")
        while probe.ends(probe.sink) < 180 and time.time() - program.started < 60:
            time.sleep(0.2)
        time.sleep(3)
        result = latency.measure(program, options, *reader, seconds=seconds)
        return result | {"batches": [json.loads(line) for line in program.lines("BATCH")]}
    finally:
        program.stop()
        program.wipe()
        setting.drop_topics(run)


# --- the first output -----------------------------------------------------------------------------------------------


def first(setting: Setting) -> Result:
    """From the start of `headrace run` to the first output that a reader sees, on the embedded log."""
    for topic in ("first-in", "first-out"):
        setting.log.create_topic(topic, PARTITIONS)
    EmbeddedFiller(setting.log, "first-in").write(next(orders(FIRST_INPUT)))
    command = [sys.executable, "-m", "headrace.cli.main", "run", str(HERE / "first_app.py")]
    command += ["--data-dir", str(setting.data), "--state-dir", "{state}"]
    program = Program(command, setting.folder / "runs" / "first")
    probe = EmbeddedProbe(setting.log, "first_app", "first-in", "first-out")
    load = machine.load()
    try:
        program.start()
        while not probe.ends("first-out"):
            if not program.alive() or time.time() - program.started > 120:
                raise RuntimeError(f"no output: {program.tail()}")
            time.sleep(0.01)
        return {
            "seconds": round(time.time() - program.started, 2),
            "cpu_s": round(program.cpu(), 1),
            "load": f"{load}-{machine.load()}",
        }
    finally:
        program.stop()
        program.wipe()
        setting.drop_topics("first")
