"""Spark calls back with each batch, and its rows are collected: with as few calls to the JVM as can be.

`foreachBatch` and `toArrow` do the same with twenty calls more (a session object for every batch, its settings, the
schema as JSON): a tenth of the time of a small batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.errors.exceptions.captured import unwrap_spark_exception
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.serializers import ArrowCollectSerializer
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.util import _load_from_socket


class _Callback:
    """What Spark calls."""

    def __init__(self, spark: SparkSession, action: Callable[[DataFrame], None]) -> None:
        self._spark = spark
        self._action = action

    def call(self, frame: Any, batch_id: int) -> None:
        """A batch is planned."""
        self._action(DataFrame(frame, self._spark))

    class Java:
        implements: ClassVar = ["org.apache.spark.sql.execution.streaming.sources.PythonForeachBatchFunction"]


def each_batch(spark: SparkSession, writer: DataStreamWriter, action: Callable[[DataFrame], None]) -> None:
    """Have `action` called with each batch of a query that is about to start."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    sources = gateway.jvm.org.apache.spark.sql.execution.streaming.sources
    sources.PythonForeachBatchHelper.callForeachBatch(writer._jwrite, _Callback(spark, action))
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]


def collect(frame: DataFrame) -> pa.Table:
    """Run the batch; all its rows. As `frame._collect_as_arrow()`, but Spark is not told each time which line of Python
    has called it: the job begins when its results are asked for, so every call before that counts.
    """
    served = frame._jdf.collectAsArrowToPython()
    server = served[2]
    try:
        with _load_from_socket((served[0], served[1]), ArrowCollectSerializer()) as stream:
            batches = list(stream)
    finally:
        with unwrap_spark_exception():
            server.getResult()
    return pa.Table.from_batches(batches)
