"""W1 and W3 with Spark's own means, as well set up as we know: the rows that Headrace is compared with.

`groupBy().agg()` reads the same embedded log in batches of the same size, keeps its state in RocksDB, and writes one
row per key and batch, not every update. `w1-per-key` keeps the state with `transformWithState`, a Python processor that
is called for each key, and writes every update. Both append without a transaction.
"""

from __future__ import annotations

import argparse
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from benchmarks.spark_source import LogSource
from headrace.log import LogConfig, open_log
from headrace.log.arrow import SCHEMA, ArrowOutgoing
from headrace.spark.session import cores, session

ORDER = "order_id string, customer string, amount double, status string, ts long"
STATE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    # What Headrace turns off, because its rows are few and packed, is what makes this one fast.
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.streaming.stateStore.providerClass": STATE,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.shuffle.partitions": str(cores()),
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -Xshare:auto -Dlog4j2.level=ERROR",
}


def paid(orders: DataFrame) -> DataFrame:
    """Orders out of JSON, without those that were cancelled."""
    return (
        orders.select(F.from_json("value", ORDER).alias("order"))
        .select("order.*")
        .filter("status != 'cancelled'")
    )


def written(totals: DataFrame) -> DataFrame:
    """Count, sum and last time of a customer, as a record."""
    return totals.select(
        F.col("customer").cast("binary").alias("key"),
        F.to_json(F.struct("n", "total", "ts")).cast("binary").alias("value"),
        F.col("ts").alias("timestamp"),
    )


def w1(orders: DataFrame) -> DataFrame:
    """Count, sum and last time of each customer's paid orders."""
    return written(
        paid(orders)
        .groupBy("customer")
        .agg(F.count("*").alias("n"), F.sum("amount").alias("total"), F.max("ts").alias("ts"))
    )


def w3(orders: DataFrame) -> DataFrame:
    """How many orders each key has in each minute."""
    timed = orders.select("key", F.timestamp_millis("timestamp").alias("time"))
    window = F.window("time", "1 minute")
    counts = timed.withWatermark("time", "1 minute").groupBy("key", window).agg(F.count("*").alias("n"))
    start = F.unix_millis(F.col("window.start"))
    return counts.select(
        F.col("key").cast("binary").alias("key"),
        F.to_json(F.struct(start.alias("start"), "n")).cast("binary").alias("value"),
        start.alias("timestamp"),
    )


class Totals(StatefulProcessor):
    """W1's aggregate, key by key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._total = handle.getValueState("total", "n long, total double")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        n, total = self._total.get() if self._total.exists() else (0, 0.0)
        for row in rows:
            n, total = n + 1, total + row.amount
            yield Row(customer=key[0], n=n, total=total, ts=row.ts)
        self._total.update((n, total))

    def close(self) -> None:
        pass


def w1_per_key(orders: DataFrame) -> DataFrame:
    """The same as `w1` with a Python processor, and every update."""
    grouped = paid(orders).groupBy("customer")
    schema = "customer string, n long, total double, ts long"
    return written(grouped.transformWithState(Totals(), schema, "Update", "None"))


QUERIES = {"w1": (w1, "value"), "w3": (w3, "key,timestamp"), "w1-per-key": (w1_per_key, "value")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("log", "input", "output", "state-dir", "mark"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--query", required=True, choices=QUERIES)
    args = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    spark = session(None, "aggregation", SETTINGS)
    spark.dataSource.register(LogSource)
    aggregated, columns = QUERIES[args.query]
    options = {"log": args.log, "topic": args.input, "mark": args.mark, "columns": columns}
    source = spark.readStream.format("embedded_log").options(**options).load()
    log = open_log(LogConfig(directory=args.log))

    def write(frame: DataFrame, number: int) -> None:
        table = frame.toArrow().cast(SCHEMA)
        log.append([ArrowOutgoing(args.output, batch) for batch in table.to_batches()])

    query = (
        aggregated(source)
        .writeStream.outputMode("update")
        .foreachBatch(write)
        .option("checkpointLocation", args.state_dir)
        .start()
    )
    first = Path(f"{args.mark}-first")
    while not first.exists() and query.isActive and not stop.is_set():
        time.sleep(0.05)
    if first.exists():
        print(f"FIRST {first.read_text()}", flush=True)
    while query.isActive and not stop.is_set():
        stop.wait(0.1)
    if query.exception() is not None:
        raise query.exception()  # type: ignore[misc]
    query.stop()


if __name__ == "__main__":
    main()
