"""Records on their way to another task: packed for Spark, or handed on inside a process, they are the same."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from headrace import StreamsBuilder
from headrace.record import TaskId
from headrace.spark.layout import lay_out
from headrace.spark.outputs import output_rows
from headrace.spark.rows import Row, pack, records, salts, to_chunk, unpack
from headrace.spark.stopwatch import Stopwatch
from headrace.task import OutputColumns
from tests.spark.harness.sparkless import Sparkless

COUNT = 200
RANDOM = Random(1)
KEYS = [None if n % 7 == 0 else b"key-%d" % RANDOM.randrange(30) for n in range(COUNT)]
HEADERS = [(("n", b"%d" % n),) * (n % 3) for n in range(COUNT)]


def found(rows: list[Row]) -> dict[tuple[int, int, int, int], Any]:
    chunks: dict[tuple[int, int, int, int], Any] = {}
    for row in rows:
        chunk = to_chunk(row)
        place = row.slot, row.stage, row.sub, row.task
        columns = zip(
            chunk.offsets,
            chunk.keys,
            chunk.values,
            chunk.timestamps,
            chunk.headers or [()] * len(chunk),
            strict=True,
        )
        chunks.setdefault(place, []).extend((chunk.topic, chunk.partition, *record) for record in columns)
    return chunks


@pytest.mark.parametrize("headers", [None, HEADERS], ids=["plain", "headers"])
@pytest.mark.parametrize("chosen", [False, True], ids=["by-key", "chosen"])
def test_handed_on_or_shuffled(headers: Any, chosen: bool) -> None:
    builder = StreamsBuilder()
    builder.stream("in").repartition(name="again", partitions=3).to("out")
    layout = lay_out(builder.build(), "app", {"in": 4, "out": 4})
    topic = next(iter(layout.repartitions))
    partitions = [None if n % 3 else RANDOM.randrange(3) for n in range(COUNT)] if chosen else None
    values = [b"%d" % n for n in range(COUNT)]
    columns = OutputColumns(topic, True, KEYS, values, list(range(COUNT)), headers, partitions)  # type: ignore[arg-type]
    both = []
    for together in (False, True):
        counters = {topic: 5}
        rows = list(output_rows([columns], layout, salts(2), TaskId(0, 1), counters, together=together))
        assert counters == {topic: 5 + COUNT}
        assert all((row.chunk is not None) is together for row in rows)
        both.append(found(rows))
    assert both[0] == both[1]
    assert sum(map(len, both[0].values())) == COUNT


def test_large_messages_wait_in_a_folder(tmp_path: Path) -> None:
    """What was opened can be read when the folder is gone: the driver empties it before it publishes."""
    small, large = (records([b"k"] * n, [b"v" * 100] * n, list(range(n))) for n in (10, 5_000))
    folder = tmp_path / "parcels"
    assert unpack(pack(small, str(folder))) == small
    assert not folder.exists()
    payload = pack(large, str(folder))
    assert len(payload) < 1_000
    found = unpack(payload)
    shutil.rmtree(folder)
    assert found == large
    assert unpack(pack(large)) == large


@pytest.mark.parametrize("together", [False, True], ids=["divided", "together"])
def test_nothing_large_crosses_spark_on_one_host(tmp_path: Path, together: bool) -> None:
    """Neither on the way to another task, nor what tasks write and change."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by(lambda _, value: value[:5], name="again")
    grouped.reduce(lambda old, new: new, store="last").to_stream().to("out")
    with Sparkless(builder.build(), tmp_path, partitions=2, together=together) as app:
        app.append("in", [(b"k", b"%05d %s" % (n % 3_000, b"v" * 90), n) for n in range(6_000)])
        folder = tmp_path / "parcels"
        folder.mkdir()
        table = app.table(msgspec.structs.replace(app.next_plan(), parcels=str(folder)))
        assert table.nbytes < 100_000
        batch = app.committer.publish(table, Stopwatch())
        assert (batch.outputs, batch.changes) == (6_000, 3_000)
        assert len(app.content("last")) == 3_000
