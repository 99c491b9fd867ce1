"""What waits in buffers is logged with the bytes of Kafka Streams, and restored from them."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import (
    BufferConfig,
    Materialized,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
    Topology,
)
from headrace.state import memory_store
from headrace.testing import TopologyTestDriver

BUFFERS = json.loads((Path(__file__).parent / "fixtures" / "buffers.json").read_text())


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def python_case(name: str) -> Topology:
    builder = StreamsBuilder()
    if name == "table":
        until = Suppressed.until_time_limit(ms(50), BufferConfig.max_records(4))
        builder.table("in", value=str).suppress(until, name="calm").to_stream().to("out")
    elif name == "join":
        rows = builder.table("table", value=str, store=Materialized("t", history_retention=ms(100)))
        stream = builder.stream("in", value=str)
        stream.join(rows, join=lambda a, b: a + b, value=str, name="j", grace=ms(20)).to("out")
    else:
        windowed = (
            builder.stream("in", value=str).group_by_key().windowed_by(TimeWindows(ms(20), grace=ms(10)))
        )
        table = windowed.reduce(lambda a, b: a + b, store="red").suppress(Suppressed.until_window_closes())
        table.to_stream(lambda window, value: window.key, key=str).to("out")
    return builder.build()


def raw(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@pytest.mark.parametrize("case", BUFFERS, ids=[case["name"] for case in BUFFERS])
def test_the_changelog_has_the_bytes_and_headers_of_kafka_streams(case: dict[str, Any]) -> None:
    topic = f"app-{case['store']}-changelog"
    with TopologyTestDriver(python_case(case["name"]), StreamsConfig(application_id="app")) as driver:
        source = driver.input("in", str, str)
        for number, ((key, value, time, headers), expected) in enumerate(case["steps"]):
            given = tuple((name, raw(data)) for name, data in headers)
            source.pipe(key, value, timestamp=time, headers=given)
            written = driver.produced(topic)
            found = sorted((key, value, headers) for key, value, _, headers in written)
            written.clear()
            wanted = [
                (raw(key), raw(value), tuple((n, raw(v)) for n, v in marks)) for key, value, marks in expected
            ]
            assert found == wanted, number


@pytest.mark.parametrize("case", BUFFERS, ids=[case["name"] for case in BUFFERS])
def test_a_changelog_of_kafka_streams_fills_our_buffer(case: dict[str, Any]) -> None:
    with TopologyTestDriver(python_case(case["name"]), StreamsConfig(application_id="app")) as driver:
        source, buffer = driver.input("in", str, str), driver.get_state_store(case["store"])
        kind = "grace_buffer" if case["name"] == "join" else "suppression_buffer"
        restored = memory_store("s", kind, key=buffer._key_serde, value=str)
        for (key, value, time, headers), written in case["steps"]:
            given = tuple((name, raw(data)) for name, data in headers)
            source.pipe(key, value, timestamp=time, headers=given)
            for raw_key, raw_value, _ in written:
                restored.apply_changelog(raw(raw_key), raw(raw_value), 0)
            assert list(restored.all()) == list(buffer.all())
            assert restored.min_timestamp() == buffer.min_timestamp()
            if kind == "suppression_buffer":
                assert restored.num_records == buffer.num_records
                assert restored.buffer_size == buffer.buffer_size
