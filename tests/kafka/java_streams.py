"""The real Kafka Streams, in Java, driven from here: a machine that only runs Java has no compiler for it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import (
    CallbackServerParameters,
    GatewayParameters,
    JavaGateway,
    launch_gateway,
)

from tests.kafka.jars import java, kafka_jars


@contextlib.contextmanager
def jvm() -> Iterator[JavaGateway]:
    """A Java process with Kafka's jars, in which Python's objects can be callbacks."""
    (bridge,) = Path(pyspark.__file__).parent.glob("jars/py4j-*.jar")
    port, token, process = launch_gateway(
        jarpath=str(bridge),
        classpath=f"{kafka_jars()}/*",
        javaopts=["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"],
        java_path=java(),
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(
        gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True),
        callback_server_parameters=CallbackServerParameters(port=0),
    )
    server = gateway.java_gateway_server
    mine = gateway.get_callback_server().get_listening_port()
    server.resetCallbackClient(server.getCallbackClient().getAddress(), mine)
    try:
        yield gateway
    finally:
        gateway.shutdown()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


@contextlib.contextmanager
def running(gateway: JavaGateway, topology: Any, settings: dict[str, str]) -> Iterator[Any]:
    """The topology as an application, exactly once and without a cache; stopped at the end."""
    properties = gateway.jvm.java.util.Properties()
    fixed = {
        "processing.guarantee": "exactly_once_v2",
        "statestore.cache.max.bytes": "0",
        "commit.interval.ms": "100",
        "auto.offset.reset": "earliest",
        "replication.factor": "1",
    }
    for name, value in (fixed | settings).items():
        properties.setProperty(name, value)
    streams = gateway.jvm.org.apache.kafka.streams.KafkaStreams(topology, properties)
    streams.start()
    try:
        yield streams
    finally:
        streams.close(gateway.jvm.java.time.Duration.ofSeconds(30))


class Words:
    """The words of a line, as the example has them."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._gateway = gateway

    def apply(self, line: str) -> Any:
        found = self._gateway.jvm.java.util.ArrayList()
        for word in re.findall(r"\w+", line.lower()):
            found.add(word)
        return found

    class Java:
        implements = ("org.apache.kafka.streams.kstream.ValueMapper",)


class TheValue:
    """The value becomes the key."""

    def apply(self, key: str, value: str) -> str:
        return value

    class Java:
        implements = ("org.apache.kafka.streams.kstream.KeyValueMapper",)


def word_counts(gateway: JavaGateway) -> Any:
    """What `word_counts` of test_changelogs_on_kafka.py is, in Java."""
    streams = gateway.jvm.org.apache.kafka.streams
    dsl, second = streams.kstream, gateway.jvm.java.time.Duration.ofSeconds
    text = gateway.jvm.org.apache.kafka.common.serialization.Serdes.String()
    number = gateway.jvm.org.apache.kafka.common.serialization.Serdes.Long()
    builder = streams.StreamsBuilder()
    # `with` and `as` are words of Python's own.
    consumed = getattr(dsl.Consumed, "with")(text, text)
    grouped = (
        builder.stream("text-input", consumed)
        .flatMapValues(Words(gateway))
        .selectKey(TheValue())
        .groupByKey(getattr(dsl.Grouped, "with")(text, text))
    )
    store = getattr(dsl.Materialized, "as")("word-count-store")
    output = getattr(dsl.Produced, "with")(text, number)
    grouped.count(store).toStream().to("wordcount-output", output)
    grouped.windowedBy(dsl.TimeWindows.ofSizeAndGrace(second(2), second(3))).count()
    sessions = dsl.SessionWindows.ofInactivityGapAndGrace(second(2), second(3))
    grouped.windowedBy(sessions).count(getattr(dsl.Materialized, "as")("sessions"))
    return builder.build()
