"""The embedded log as a source for plain Spark: the columns that are asked for, in batches as Headrace plans them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable

from benchmarks.probes import PARTITIONS
from headrace.config import StreamsConfig
from headrace.log import LogConfig, TopicLog, open_log
from headrace.log.arrow import ArrowChunk
from headrace.log.base import TopicPartition
from headrace.spark.planner import FIRST_BATCH
from headrace.spark.session import cores

LIMIT = StreamsConfig(application_id="unused").max_batch_records

TYPES = {"key": ("string", pa.string()), "value": ("string", pa.string()), "timestamp": ("long", pa.int64())}

_logs: dict[int, TopicLog] = {}


def log_of(folder: str) -> TopicLog:
    """The log, opened once in each process."""
    if os.getpid() not in _logs:
        _logs[os.getpid()] = open_log(LogConfig(directory=folder))
    return _logs[os.getpid()]


class LogSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "embedded_log"

    def schema(self) -> str:
        return ", ".join(f"{name} {TYPES[name][0]}" for name in self.options["columns"].split(","))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        columns = self.options["columns"].split(",")
        return LogReader(self.options["log"], self.options["topic"], self.options["mark"], columns)


class LogReader(DataSourceStreamReader):
    """Batches as Headrace plans them: a small first one, then as many records as there are, up to a limit."""

    def __init__(self, folder: str, topic: str, mark: str, columns: list[str]) -> None:
        self.folder, self.topic, self.mark, self.columns = folder, topic, mark, columns
        self.first = True

    def initialOffset(self) -> dict[str, Any]:
        return {"ends": [0] * PARTITIONS}

    def getDefaultReadLimit(self) -> ReadAllAvailable:
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        fresh = Path(f"{self.mark}.new")
        fresh.write_text(str(sum(start["ends"])))
        fresh.replace(self.mark)
        share = (FIRST_BATCH if self.first else LIMIT) // PARTITIONS
        self.first = False
        places = [TopicPartition(self.topic, p) for p in range(PARTITIONS)]
        latest = log_of(self.folder).latest(places)
        return {"ends": [min(latest[p], at + share) for p, at in zip(places, start["ends"], strict=True)]}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        ranges = list(enumerate(zip(start["ends"], end["ends"], strict=True)))
        return [InputPartition(ranges[n :: cores()]) for n in range(min(cores(), PARTITIONS))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        first = Path(f"{self.mark}-first")
        if not first.exists():
            fresh = Path(f"{first}-{os.getpid()}")
            fresh.write_text(str(time.time_ns() // 1_000_000))
            fresh.rename(first)
        ranges = {TopicPartition(self.topic, p): span for p, span in partition.value if span[0] < span[1]}
        for chunk in log_of(self.folder).read(ranges):
            assert isinstance(chunk, ArrowChunk)
            yield pa.record_batch(
                {name: chunk.batch.column(name).cast(TYPES[name][1]) for name in self.columns}
            )
