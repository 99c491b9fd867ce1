"""The source as Spark gets to know it: what it is called, which columns it has, and where its code is.

A start asks two processes beside the driver about the source, one after the other, and neither of them plans or reads
anything: to import Headrace there took half a second each. So this class travels with its code, and imports nothing of
ours; what it says of the reader is a name, to be found by the workers.
"""

from __future__ import annotations

import operator
import os
import pkgutil
import sys
from types import TracebackType
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader

from headrace.spark.rows import SPARK_SCHEMA

NAME = "headrace"
HERE = "headrace.spark.source"
"""The module with all that the source does."""
IN_WORKER = f"{HERE}:reader_in_worker"
"""What a reader becomes in a worker."""


class HeadraceSource(DataSource):
    """Reads every topic of an application. Options: `application` (a Shipment), `progress` (a file), whether all
    workers are on `one_host`, and `modules` (folders from which the driver imports).
    """

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        _be_quiet_at_the_end()
        return SPARK_SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        options = self.options
        if _be_quiet_at_the_end():
            self.__dict__["described"] = True
            return _Reader(options["application"], options["progress"])
        reader: DataSourceStreamReader = pkgutil.resolve_name(f"{HERE}:HeadraceReader")(
            options["application"],
            options["progress"],
            one_host=options["one_host"] == "true",
            modules=options["modules"],
        )
        return reader

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Every task gets it beside the reader, and only ever asks for its name.
        if self.__dict__.get("described"):
            return pkgutil.resolve_name, (f"{HERE}:SOURCE",)
        return object.__reduce_ex__(self, protocol)


class _Reader(DataSourceStreamReader):
    """Becomes the one that reads when it arrives at a worker."""

    def __init__(self, application: str, progress: str) -> None:
        self.application = application
        self.progress = progress

    def __reduce__(self) -> Any:
        return operator.call, (_Name(IN_WORKER), self.application, self.progress)

    def read(self, partition: Any) -> Any:
        """Here, too, though Spark only asks those that have arrived."""
        return pkgutil.resolve_name(IN_WORKER)(self.application, self.progress).read(partition)


class _Name:
    """Stands for a function of ours that need not be imported here."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> Any:
        return pkgutil.resolve_name, (self.name,)


def _be_quiet_at_the_end() -> bool:
    """Processes beside the driver that only describe the source to Spark are ended after a minute without work, and die
    with a stack trace on the user's terminal; so does the planner when Spark hangs up. What goes wrong in them reaches
    Spark in another way. True in those that only describe it.
    """
    sys.excepthook = _unless_spark_hung_up
    if not any(word.startswith("pyspark.sql.worker.") for word in sys.argv[1:]):
        return False
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return True


def _unless_spark_hung_up(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, EOFError | ConnectionError):
        sys.__excepthook__(kind, error, trace)


def register(spark: SparkSession) -> None:
    """Make the source known to a session, code and all."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        spark.dataSource.register(HeadraceSource)
    finally:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
