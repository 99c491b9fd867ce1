"""What a source of Spark reads from the embedded log stays Arrow all the way: no record becomes a Python object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from headrace import StreamsBuilder
from headrace.log.arrow import ArrowChunk, ArrowOutgoing, concat, to_batch
from headrace.log.base import Chunk, TopicPartition
from headrace.log.embedded import EmbeddedLog
from headrace.spark import rows
from headrace.spark.reader import read_rows
from tests.spark.harness.sparkless import Sparkless


class Watched(EmbeddedLog):
    """The embedded log, with a note of all that it has handed out."""

    chunks: list[Chunk]

    def read(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[Chunk]:
        for chunk in super().read(ranges):
            self.chunks.append(chunk)
            yield chunk


def has_lists(chunk: Chunk) -> bool:
    """Whether a column was ever made into a Python list: then its slot is filled."""
    for column in ("keys", "values", "timestamps", "headers"):
        try:
            object.__getattribute__(chunk, column)
        except AttributeError:
            continue
        return True
    return False


def test_records_reach_spark_as_arrow_batches(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    builder.stream("numbers", value=bytes).group_by_key().count(store="counts")
    count = 50_000
    keys = [b"%d" % (number % 100) for number in range(count)]
    sent = to_batch(keys, [b"value-%d" % number for number in range(count)], list(range(count)))
    with Sparkless(builder.build(), tmp_path, partitions=1, together=True) as app:
        app.log.append([ArrowOutgoing("numbers", sent)])
        log = Watched(tmp_path / "log")
        log.chunks = []
        app.runtime.log = log
        plan = app.planner.plan(app.committer.base)
        assert plan is not None
        read = [row for part in read_rows(app.runtime, plan, [0], control=True) for row in part]
        # This is what the data source yields to Spark.
        assert isinstance(rows.to_batch(read), pa.RecordBatch)
        packed = [rows.unpack(row.payload) for row in read if row.kind == "records"]
        assert log.chunks
        assert all(isinstance(chunk, ArrowChunk) and not has_lists(chunk) for chunk in log.chunks)
        planned = plan.ends["numbers"][0]
        assert planned >= 10_000
        found = concat([batch.select(sent.schema.names) for batch in packed])
        assert found.equals(sent.slice(0, planned))
        offsets = [offset for batch in packed for offset in batch.column("offset").to_pylist()]
        assert offsets == list(range(planned))
        assert len(packed) <= 5, "many thousand records in a row"
        assert log.chunks[0].values[0] == b"value-0"
        assert has_lists(log.chunks[0]), "whoever asks for a list gets one, and it shows"
